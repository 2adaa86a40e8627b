/* SPDX-License-Identifier: Apache-2.0 */
/* See tails.h. */
#include "tails.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"

enum { LENGTH = 10 }; /* 1024 byte: one packet of any usual network */

/* Timeouts of some tenths of a second must not use up the time: a matching in which there are some has enough. */
static const double enough_seconds = 0.4;

/* The value of each node, that of its first process. */
static json_t *list_of_nodes(const struct pairwise_state *state, double mine)
{
    MPI_CHECK(MPI_Gather(&mine, 1, MPI_DOUBLE, state->seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    json_t *list = json_array();
    for (int node = 0; state->seconds && node < state->nodes->count; node++)
        json_array_append_new(list, pairwise_seconds(pairwise_slowest(state, node)));
    return list;
}

/* Repeats loops until there are enough exchanges. Returns their number. */
static int time_each(struct pairwise_state *state, struct exchange *exchange, int64_t bytes, double *each)
{
    const double start = MPI_Wtime();
    int goes_on = true, count = 0;
    while (goes_on) {
        exchange->each_seconds = each + count;
        time_loop(state->loops, exchange, &methods[METHOD_BLOCKING], bytes, TAIL_LOOP);
        count += TAIL_LOOP;
        goes_on = count < TAIL_LOOP * TAIL_LOOPS && MPI_Wtime() - start < enough_seconds;
        MPI_CHECK(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return count;
}

void measure_tails(struct pairwise_state *state, const char *scope, int matching)
{
    double each[TAIL_LOOP * TAIL_LOOPS], median = NAN, late = NAN, longest = NAN;
    const int64_t bytes = state->request->length[LENGTH];
    struct exchange exchange = pairwise_exchange(state, true, BOTH);
    const int count = time_each(state, &exchange, bytes, each);
    if (exchange.transfers > 0) {
        qsort(each, (size_t)count, sizeof *each, compare_numbers);
        median = fmax(each[count / 2 - 1], MPI_Wtick());
        late = fmax(each[(999 * count + 999) / 1000 - 1], MPI_Wtick()); /* nearest rank */
        longest = fmax(each[count - 1], MPI_Wtick());
    }
    json_t *fields = OBJECT(field_text("scope", scope), field_int("matching", matching),
                            field_int("message_bytes", bytes), field_int("loop_length", count),
                            field_json("partners", list_of_ints(state->partner, state->nodes->count)),
                            field_json("median_seconds", list_of_nodes(state, median)),
                            field_json("p999_seconds", list_of_nodes(state, late)),
                            field_json("longest_seconds", list_of_nodes(state, longest)));
    log_write_rounded(state->run->log, "tails", fields);
}
