/* SPDX-License-Identifier: Apache-2.0 */
/* See agreement.h. */
#include "agreement.h"

#include <limits.h>

#include "fail.h"
#include "gather.h"
#include "record.h"

enum { OVERHEAD_LOOP = 200 };

struct spread agree_on_times(MPI_Comm comm, double elapsed_seconds)
{
    /* the maximum of the negative is the minimum: one reduction gives both */
    double mine[2] = {elapsed_seconds, -elapsed_seconds}, all[2];
    MPI_CHECK(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, comm));
    return (struct spread){.slowest = all[0], .fastest = -all[1]};
}

static void read_clock(MPI_Comm comm)
{
    (void)comm;
    (void)MPI_Wtime();
}

static void pass_barrier(MPI_Comm comm)
{
    MPI_CHECK(MPI_Barrier(comm));
}

static void agree(MPI_Comm comm)
{
    double mine = 1.0, all;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm));
}

static double mean_seconds(MPI_Comm comm, void (*operation)(MPI_Comm))
{
    operation(comm);
    MPI_CHECK(MPI_Barrier(comm));
    double start = MPI_Wtime();
    for (int i = 0; i < OVERHEAD_LOOP; i++)
        operation(comm);
    return agree_on_times(comm, MPI_Wtime() - start).slowest / OVERHEAD_LOOP;
}

json_t *measure_overhead(MPI_Comm comm)
{
    double clock = mean_seconds(comm, read_clock);
    double barrier = mean_seconds(comm, pass_barrier);
    double agreement = mean_seconds(comm, agree);
    return OBJECT(field_real("clock_resolution_seconds", MPI_Wtick()), field_real("clock_read_seconds", clock),
                  field_real("barrier_seconds", barrier), field_real("agreement_seconds", agreement));
}

int agree_on_reason(MPI_Comm comm, char *reason, size_t bytes)
{
    int first;
    const int mine = reason[0] ? rank_in(comm) : INT_MAX;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == INT_MAX)
        return NO_RANK;
    MPI_CHECK(MPI_Bcast(reason, (int)bytes, MPI_CHAR, first, comm));
    return first;
}
