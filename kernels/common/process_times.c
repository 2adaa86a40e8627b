/* SPDX-License-Identifier: Apache-2.0 */
/* See process_times.h. */
#include "process_times.h"

#include <stdbool.h>
#include <stdlib.h>

#include "gather.h"
#include "memory.h"

enum { MOST_PROCESSES_EACH = 4096 };

static bool of_nodes(const struct run *run)
{
    return run->ranks > MOST_PROCESSES_EACH;
}

const char *process_resolution(const struct run *run)
{
    return of_nodes(run) ? "node" : "process";
}

int largest_of_nodes(const int leaders[], double values[], int ranks)
{
    int *place = allocate((size_t)ranks, sizeof *place), nodes = 0; /* of a leader's node */
    for (int rank = 0; rank < ranks; rank++) {
        const double value = values[rank];
        if (leaders[rank] == rank) {
            place[rank] = nodes++;
            values[place[rank]] = value;
        } else if (value > values[place[leaders[rank]]]) {
            values[place[leaders[rank]]] = value;
        }
    }
    free(place);
    return nodes;
}

/* The values of the list, and in `count` how many; NULL on all ranks but 0. */
static double *collect(const struct run *run, MPI_Comm comm, double value, int *count)
{
    double *values = gather(comm, &value, sizeof value);
    *count = size_of(comm);
    if (of_nodes(run)) {
        int *leaders = gather(comm, &run->machine.leader, sizeof *leaders);
        if (leaders)
            *count = largest_of_nodes(leaders, values, *count);
        free(leaders);
    }
    return values;
}

/* The largest of the negative is the smallest: counts are negative here. */
static json_t *list_json(const struct run *run, MPI_Comm comm, double value, bool is_count)
{
    int count;
    double *values = collect(run, comm, value, &count);
    json_t *list = values ? json_array() : NULL;
    for (int i = 0; values && i < count; i++)
        json_array_append_new(list, is_count ? json_integer((json_int_t)-values[i]) : json_real(values[i]));
    free(values);
    return list;
}

json_t *process_times(const struct run *run, MPI_Comm comm, double seconds)
{
    return list_json(run, comm, seconds, false);
}

json_t *process_counts(const struct run *run, MPI_Comm comm, int64_t number)
{
    return list_json(run, comm, -(double)number, true);
}
