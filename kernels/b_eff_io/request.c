/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. */
#include "request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "walk.h"

static const double usable_share = 0.9; /* of the free space, and of a node's memory */

bool is_measured(const struct request *request, enum method_number method, enum type_number type)
{
    return request->types >> type & 1 && request->methods >> method & 1 &&
           !(method == METHOD_REWRITE && request->rewrite_scatter_only && type != TYPE_SCATTER);
}

const struct pattern_type *type_of(const struct request *request, enum type_number type)
{
    return type == TYPE_SHARED && request->individual_pointers ? &individual_pointers : &request->rows[type];
}

/* Sum of U over all patterns of the chosen types. */
static int units_measured(const struct request *request)
{
    int units = 0;
    for (int p = 0; p < PATTERNS; p++)
        if (request->types >> request->pattern[p].type & 1)
            units += request->pattern[p].units;
    return units;
}

int64_t least_space_bytes(const struct request *request)
{
    int64_t processes = 0, bytes = 0;
    for (int i = 0; i < request->partitions; i++)
        processes += request->partition[i];
    for (int p = 0; p < PATTERNS; p++)
        if (request->types >> request->pattern[p].type & 1)
            bytes += request->pattern[p].call_bytes ? request->pattern[p].call_bytes : request->alignment_bytes;
    return bytes * processes;
}

int64_t calls_of_space(const struct request *request, const struct pattern *pattern, int processes)
{
    const int64_t spare = request->space_limit_bytes - least_space_bytes(request);
    const int64_t share = spare / request->partitions / units_measured(request) * pattern->units;
    return 1 + share / (pattern->call_bytes * processes);
}

int64_t size_driven_calls(const struct request *request, int number, int processes, const int64_t repetitions[PATTERNS])
{
    const struct pattern *pattern = &request->pattern[number];
    const int64_t count = size_driven_count(request->pattern, number, repetitions);
    if (count == 0) /* fills up the segment */
        return 0;
    const int64_t most = calls_of_space(request, pattern, processes);
    return count < most ? count : most;
}

void check_memory(const struct machine *machine, const struct request *request, const char *remedy)
{
    const int64_t each = PERIOD_BYTES + request->largest_call_bytes;
    int too_much = (double)each * machine->ranks_on_node > usable_share * (double)machine->node_memory_bytes;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &too_much, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (too_much)
        refuse("buffers of %" PRId64 " bytes per process do not fit into a node's memory; run fewer processes on a "
               "node%s",
               each, remedy);
}

int64_t choose_space(int64_t option_bytes, int64_t least_bytes, const struct filesystem *filesystem, const char *remedy)
{
    const int64_t limit = option_bytes ? option_bytes : (int64_t)(usable_share * (double)filesystem->free_bytes);
    if (least_bytes > limit)
        refuse("running every pattern once requires %" PRId64 " bytes, more than the limit of %" PRId64
               " on '%s' (%" PRId64 " are free); %s, or choose %s",
               least_bytes, limit, filesystem->directory, filesystem->free_bytes,
               option_bytes ? "choose a larger --space-limit" : "free some space", remedy);
    if (limit > filesystem->free_bytes)
        refuse("--space-limit %" PRId64 ": '%s' has only %" PRId64 " bytes free; choose a smaller --space-limit", limit,
               filesystem->directory, filesystem->free_bytes);
    return limit;
}

int units_planned(const struct request *request)
{
    int units = 0;
    for (int m = 0; m < METHODS; m++)
        for (int p = 0; p < PATTERNS; p++)
            if (is_measured(request, (enum method_number)m, request->pattern[p].type))
                units += request->pattern[p].units;
    return units * request->partitions;
}

void parse_partitions(const char *text, int ranks, struct request *request)
{
    const char *at = text;
    if (!strcmp(text, "all")) {
        request->partition[request->partitions++] = ranks;
        return;
    }
    while (request->partitions < MOST_PARTITIONS) {
        char *end;
        const long processes = strtol(at, &end, 10);
        const int before = request->partitions ? request->partition[request->partitions - 1] : 0;
        if (end == at || processes <= before || processes > ranks || (*end && *end != ','))
            refuse("--partitions: '%.80s' is not a list of numbers of processes from 1 to %d, ascending and separated "
                   "by commas",
                   text, ranks);
        request->partition[request->partitions++] = (int)processes;
        if (!*end)
            return;
        at = end + 1;
    }
    refuse("--partitions: more than %d", MOST_PARTITIONS);
}
