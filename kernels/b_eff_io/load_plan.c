/* SPDX-License-Identifier: Apache-2.0 */
/* See load_plan.h. */
#include "load_plan.h"

#include <math.h>

const char *const load_kind_names[] = {"read", "write", NULL};

/* Type scatter with chunks of 1 MiB, type separate with chunks of 1 MiB and of 32 KiB. */
const int load_patterns[LOAD_PATTERNS] = {3, 19, 20};

static int kinds_of(const struct load *load)
{
    int kinds = 0;
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        kinds += load->kinds >> kind & 1;
    return kinds;
}

bool is_planned(const struct request *request, int number)
{
    if (!request->load.kinds)
        return request->types >> request->pattern[number].type & 1;
    for (int place = 0; place < LOAD_PATTERNS; place++)
        if (load_patterns[place] == number)
            return true;
    return false;
}

int load_phases(const struct load *load)
{
    return 2 * kinds_of(load) + 1;
}

double load_pass_seconds(const struct request *request)
{
    const int durations = load_phases(&request->load) + kinds_of(&request->load);
    return request->scheduled_seconds / (LOAD_REPETITIONS * LOAD_PATTERNS * METHODS * durations);
}

static int64_t bytes_of_generators(const struct request *request)
{
    const struct nodes *nodes = request->load.nodes;
    const int64_t processes = nodes->first[nodes->count] - request->load.measured_ranks;
    return processes * kinds_of(&request->load) * request->load_file_bytes;
}

int64_t load_most_calls(const struct request *request, const struct pattern *pattern)
{
    const int64_t bytes = request->space_limit_bytes - bytes_of_generators(request);
    const int64_t calls = bytes / (pattern->call_bytes * request->load.measured_ranks);
    return calls < MOST_LOADED_CALLS ? calls : MOST_LOADED_CALLS;
}

int64_t load_calls(const struct request *request, int64_t calls, double elapsed_seconds, int64_t most)
{
    const double fitting = floor(load_pass_seconds(request) / elapsed_seconds * (double)calls);
    return fitting<1 ? 1 : fitting>(double) most ? most : (int64_t)fitting;
}

int64_t load_least_space_bytes(const struct request *request)
{
    return bytes_of_generators(request) + request->largest_call_bytes * request->load.measured_ranks;
}

json_t *load_plan_json(const struct request *request)
{
    json_t *description = load_json(&request->load, load_kind_names);
    if (!description)
        return NULL;
    json_object_set_new(description, "file_bytes", json_integer(request->load_file_bytes));
    json_object_set_new(description, "repetitions", json_integer(LOAD_REPETITIONS));
    json_object_set_new(description, "pass_seconds", json_real(load_pass_seconds(request)));
    return description;
}
