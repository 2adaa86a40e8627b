/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. */
#include "request.h"

bool is_measured(const struct request *request, enum method_number method, enum type_number type)
{
    return request->types >> type & 1 && request->methods >> method & 1 &&
           !(method == METHOD_REWRITE && request->rewrite_scatter_only && type != TYPE_SCATTER);
}

const struct pattern_type *type_of(const struct request *request, enum type_number type)
{
    return type == TYPE_SHARED && request->individual_pointers ? &individual_pointers : &pattern_types[type];
}

int units_measured(const struct request *request)
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

int units_planned(const struct request *request)
{
    int units = 0;
    for (int m = 0; m < METHODS; m++)
        for (int p = 0; p < PATTERNS; p++)
            if (is_measured(request, (enum method_number)m, request->pattern[p].type))
                units += request->pattern[p].units;
    return units * request->partitions;
}
