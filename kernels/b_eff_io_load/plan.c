/* SPDX-License-Identifier: Apache-2.0 */
/* See plan.h. */
#include "plan.h"

#include <math.h>

#include "records.h"

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

int phases_of(const struct load *load)
{
    return 2 * kinds_of(load) + 1;
}

double pass_seconds(const struct plan *plan)
{
    const int durations = phases_of(&plan->load) + kinds_of(&plan->load);
    return plan->request.scheduled_seconds / (LOAD_REPETITIONS * LOAD_PATTERNS * METHODS * durations);
}

static int64_t bytes_of_generators(const struct plan *plan)
{
    const struct nodes *nodes = plan->load.nodes;
    const int64_t processes = nodes->first[nodes->count] - plan->load.measured_ranks;
    return processes * kinds_of(&plan->load) * plan->file_bytes;
}

int64_t most_calls(const struct plan *plan, const struct pattern *pattern)
{
    const int64_t bytes = plan->request.space_limit_bytes - bytes_of_generators(plan);
    const int64_t calls = bytes / (pattern->call_bytes * plan->load.measured_ranks);
    return calls < MOST_LOADED_CALLS ? calls : MOST_LOADED_CALLS;
}

int64_t choose_calls(const struct plan *plan, int64_t calls, double elapsed_seconds, int64_t most)
{
    const double fitting = floor(pass_seconds(plan) / elapsed_seconds * (double)calls);
    return fitting<1 ? 1 : fitting>(double) most ? most : (int64_t)fitting;
}

int64_t least_bytes(const struct plan *plan)
{
    return bytes_of_generators(plan) + plan->request.largest_call_bytes * plan->load.measured_ranks;
}

json_t *plan_json(const struct plan *plan)
{
    const struct request *request = &plan->request;
    json_t *patterns = json_array(), *load = load_json(&plan->load, load_kind_names);
    for (int place = 0; place < LOAD_PATTERNS; place++)
        json_array_append_new(patterns, pattern_json(load_patterns[place], &request->pattern[load_patterns[place]]));
    json_object_set_new(load, "file_bytes", json_integer(plan->file_bytes));
    return OBJECT(field_real("scheduled_seconds", request->scheduled_seconds),
                  field_real("pass_seconds", pass_seconds(plan)), field_int("repetitions", LOAD_REPETITIONS),
                  field_int("space_limit_bytes", request->space_limit_bytes),
                  field_text("check", request->check_all ? "all" : "sample"), field_json("patterns", patterns),
                  field_json("load", load));
}
