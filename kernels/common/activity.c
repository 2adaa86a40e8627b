/* SPDX-License-Identifier: Apache-2.0 */
/* See activity.h. */
#include "activity.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cores.h"
#include "fail.h"
#include "memory.h"
#include "record.h"

enum { OTHERS, STOLEN, KNOWN, LEADER, FIELDS }; /* of a node */
enum { SLACK_SECONDS = 1 };

struct processor_time processor_time_now(void)
{
    struct processor_time now = {0};
    struct rusage own;
    long long user, nice, stolen; /* clock ticks */
    FILE *file = fopen("/proc/stat", "r");
    if (!file)
        return now;
    now.known = fscanf(file, "cpu %lld %lld %*d %*d %*d %*d %*d %lld", &user, &nice, &stolen) == 3 &&
                getrusage(RUSAGE_SELF, &own) == 0;
    fclose(file);
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

static void on_this_node(const struct processor_time *start, int leader, double elapsed_seconds, double fields[FIELDS])
{
    struct processor_time now = processor_time_now();
    int rank, known = start->known && now.known, all_known;
    double own = now.own_user_seconds - start->own_user_seconds, of_run;
    MPI_Comm node;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, leader, rank, &node));
    MPI_CHECK(MPI_Allreduce(&own, &of_run, 1, MPI_DOUBLE, MPI_SUM, node));
    MPI_CHECK(MPI_Allreduce(&known, &all_known, 1, MPI_INT, MPI_MIN, node));
    MPI_CHECK(MPI_Comm_free(&node));
    fields[OTHERS] = not_negative(now.user_seconds - start->user_seconds - of_run);
    fields[STOLEN] = not_negative(now.stolen_seconds - start->stolen_seconds);
    fields[KNOWN] =
        all_known && is_possible(fields[OTHERS], elapsed_seconds) && is_possible(fields[STOLEN], elapsed_seconds);
    fields[LEADER] = leader == rank;
}

json_t *activity_json(const struct processor_time *start, int leader, double elapsed_seconds)
{
    double mine[FIELDS];
    int rank, ranks;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    on_this_node(start, leader, elapsed_seconds, mine);
    double (*all)[FIELDS] = rank == 0 ? allocate((size_t)ranks, sizeof *all) : NULL;
    MPI_CHECK(MPI_Gather(mine, FIELDS, MPI_DOUBLE, all, FIELDS, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (rank != 0)
        return NULL;
    bool known = true;
    json_t *hosts = json_array();
    for (int other = 0; other < ranks; other++) {
        if (all[other][LEADER] == 0)
            continue;
        known = known && all[other][KNOWN] != 0;
        json_array_append_new(hosts, OBJECT(field_real("others_user_seconds", all[other][OTHERS]),
                                            field_real("stolen_seconds", all[other][STOLEN])));
    }
    free(all);
    if (!known) {
        json_decref(hosts);
        return NULL;
    }
    return OBJECT(field_real("elapsed_seconds", elapsed_seconds), field_json("hosts", hosts));
}
