/* SPDX-License-Identifier: Apache-2.0 */
/* See latency.h. */
#include "latency.h"

#include <string.h>

#include "fail.h"
#include "record.h"

static const double nanosecond = 1e-9;

void latency_clear(struct latency *latency)
{
    memset(latency, 0, sizeof *latency);
    latency->shortest_seconds = 1e300;
}

int latency_bin(uint64_t nanoseconds)
{
    if (nanoseconds < UINT64_C(1) << LATENCY_BITS)
        return (int)nanoseconds;
    const int shift = 63 - __builtin_clzll(nanoseconds) - LATENCY_BITS;
    return (shift << LATENCY_BITS) + (int)(nanoseconds >> shift);
}

uint64_t latency_bin_start(int bin)
{
    if (bin < 2 << LATENCY_BITS)
        return (uint64_t)bin;
    const int shift = (bin >> LATENCY_BITS) - 1;
    return (uint64_t)(bin - (shift << LATENCY_BITS)) << shift;
}

void latency_add(struct latency *latency, double seconds)
{
    latency->bin_calls[latency_bin(seconds > 0 ? (uint64_t)(seconds / nanosecond) : 0)]++;
    latency->calls++;
    latency->sum_seconds += seconds;
    if (seconds < latency->shortest_seconds)
        latency->shortest_seconds = seconds;
    if (seconds > latency->longest_seconds)
        latency->longest_seconds = seconds;
}

static void reduce(void *mine, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, mine, count, type, op, comm));
}

void latency_gather(struct latency *latency, MPI_Comm comm)
{
    reduce(latency->bin_calls, LATENCY_BINS, MPI_UINT64_T, MPI_SUM, comm);
    reduce(&latency->calls, 1, MPI_UINT64_T, MPI_SUM, comm);
    reduce(&latency->sum_seconds, 1, MPI_DOUBLE, MPI_SUM, comm);
    reduce(&latency->shortest_seconds, 1, MPI_DOUBLE, MPI_MIN, comm);
    reduce(&latency->longest_seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
}

json_t *latency_json(const struct latency *latency)
{
    json_t *from = json_array(), *to = json_array(), *calls = json_array();
    for (int bin = 0; bin < LATENCY_BINS; bin++)
        if (latency->bin_calls[bin]) {
            json_array_append_new(from, json_real((double)latency_bin_start(bin) * nanosecond));
            json_array_append_new(to, json_real((double)latency_bin_start(bin + 1) * nanosecond));
            json_array_append_new(calls, json_integer((json_int_t)latency->bin_calls[bin]));
        }
    return OBJECT(field_int("calls", latency->calls), field_real("sum_seconds", latency->sum_seconds),
                  field_real("shortest_seconds", latency->shortest_seconds),
                  field_real("longest_seconds", latency->longest_seconds), field_json("from_seconds", from),
                  field_json("to_seconds", to), field_json("bin_calls", calls));
}
