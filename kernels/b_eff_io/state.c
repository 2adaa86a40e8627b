/* SPDX-License-Identifier: Apache-2.0 */
/* See state.h. */
#include "state.h"

#include <stdio.h>
#include <unistd.h>

#include "agreement.h"
#include "clock.h"
#include "fail.h"
#include "hang.h"
#include "machine.h"
#include "peers.h"

static const int64_t most_round_calls = 1000;

void watch(struct step *now, const char *doing, int number)
{
    const struct state *state = now->state;
    const bool suspicious = now->type == TYPE_SHARED && !state->request->individual_pointers;
    snprintf(now->doing, sizeof now->doing, number < 0 ? "%s" : "%s %d", doing, number);
    peers_enter(hang_patience_of_files(), "%s, type %s, %s%s", methods[now->method].name, now->row->name, now->doing,
                suspicious ? "; shared file pointers may hang here, --individual-pointers avoids them" : "");
}

void prepare_buffer(struct step *now, const struct pattern *pattern, int64_t calls, uint32_t source)
{
    if (now->method == METHOD_READ)
        walk_wipe(&now->state->walk, calls, pattern->call_bytes);
    else
        walk_fill(&now->state->walk, calls, pattern->call_bytes, source);
}

int64_t round_calls(const struct pattern *pattern)
{
    const int64_t in_buffer = walk_calls(pattern->call_bytes);
    return in_buffer < most_round_calls ? in_buffer : most_round_calls;
}

void wait_for_all(void)
{
    int done = 0;
    MPI_Request request;
    MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (;;) {
        MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        pause_ms(1);
    }
}

/* Rank 0, which is in every partition and has the log, reports the problem and aborts, because closing files or
 * MPI_Finalize may hang after failed I/O. */
void stop_on_problem(const struct step *now, struct problem *problem)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    const int own = now->state->run->rank;
    int rank = own; /* --read-shift changes ranks in the partition */
    const int failed = agree_on_reason(now->comm, problem->text, sizeof problem->text);
    if (failed == NO_RANK)
        return;
    host_name(host);
    MPI_CHECK(MPI_Bcast(host, sizeof host, MPI_CHAR, failed, now->comm));
    MPI_CHECK(MPI_Bcast(&rank, 1, MPI_INT, failed, now->comm));
    if (own == 0)
        fail_for(rank, host, "partition of %d, %s, type %s, %s: %s", now->processes, methods[now->method].name,
                 now->row->name, now->doing, problem->text);
    for (;;)
        pause();
}
