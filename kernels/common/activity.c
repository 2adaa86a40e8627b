/* SPDX-License-Identifier: Apache-2.0 */
/* See activity.h. */
#include "activity.h"

#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cores.h"
#include "fail.h"
#include "first_line.h"
#include "gather.h"
#include "record.h"

enum { SLACK_SECONDS = 1 };

struct processor_time processor_time_now(void)
{
    struct processor_time now = {0};
    struct rusage own;
    long long user, nice, stolen; /* clock ticks */
    char line[256];
    read_first_line(line, sizeof line, "/proc/stat");
    now.known = sscanf(line, "cpu %lld %lld %*d %*d %*d %*d %*d %lld", &user, &nice, &stolen) == 3 &&
                getrusage(RUSAGE_SELF, &own) == 0;
    if (!now.known)
        return now;
    const double ticks = (double)sysconf(_SC_CLK_TCK);
    now.user_seconds = ((double)user + (double)nice) / ticks;
    now.stolen_seconds = (double)stolen / ticks;
    now.own_user_seconds = (double)own.ru_utime.tv_sec + 1e-6 * (double)own.ru_utime.tv_usec;
    return now;
}

/* Because of the coarse tick of /proc/stat, a difference may be slightly below zero. */
static double not_negative(double seconds)
{
    return seconds > 0 ? seconds : 0;
}

/* The counters jump when, for example, a virtual machine is moved to another host: more than all processors can deliver
 * is not plausible. */
static bool is_possible(double processor_seconds, double elapsed_seconds)
{
    return processor_seconds <= SLACK_SECONDS + elapsed_seconds * count_online_cores();
}

json_t *activity_json(const struct processor_time *start, const struct machine *machine, double elapsed_seconds)
{
    const struct processor_time now = processor_time_now();
    int known = start->known && now.known, all_known;
    double own = now.own_user_seconds - start->own_user_seconds, of_run;
    MPI_Comm node = node_communicator(machine->leader);
    MPI_CHECK(MPI_Allreduce(&own, &of_run, 1, MPI_DOUBLE, MPI_SUM, node));
    MPI_CHECK(MPI_Allreduce(&known, &all_known, 1, MPI_INT, MPI_MIN, node));
    MPI_CHECK(MPI_Comm_free(&node));
    const double others = not_negative(now.user_seconds - start->user_seconds - of_run);
    const double stolen = not_negative(now.stolen_seconds - start->stolen_seconds);
    json_t *mine = NULL;
    if (all_known && is_possible(others, elapsed_seconds) && is_possible(stolen, elapsed_seconds))
        mine = OBJECT(field_real("others_user_seconds", others), field_real("stolen_seconds", stolen));
    json_t *hosts = gather_from_nodes(machine->leader, mine);
    if (hosts && json_array_size(hosts) == (size_t)machine->nodes)
        return OBJECT(field_real("elapsed_seconds", elapsed_seconds), field_json("hosts", hosts));
    json_decref(hosts);
    return NULL;
}
