/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels b_eff and b_eff_load have in common with postprocess, as JSON, and what all kernels have. */
#include <stdio.h>
#include <string.h>

#include "budget.h"
#include "counter_rows.h"
#include "file_load.h"
#include "kinds.h"
#include "lengths.h"
#include "memory_kinds.h"
#include "process_times.h"
#include "request.h"
#include "units.h"

static json_t *names(const char *const *name, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(name[i]));
    return list;
}

/* What follows from each memory per process. */
static json_t *sizes_json(void)
{
    static const int64_t memory[] = {SMALLEST_MEMORY, 3000001, 32 * GIB / 3, 16 * GIB - 128, 16 * GIB, 128 * GIB};
    json_t *sizes = json_array();
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        int64_t length[LENGTHS];
        json_t *lengths = json_array();
        const int64_t l_max = longest_message(memory[i]);
        message_lengths(l_max, length);
        for (int k = 0; k < LENGTHS; k++)
            json_array_append_new(lengths, json_integer(length[k]));
        json_array_append_new(sizes, OBJECT(field_int("memory_per_process_bytes", memory[i]),
                                            field_int("l_max_bytes", l_max), field_json("message_bytes", lengths),
                                            field_int("buffer_bytes", walk_buffer_bytes(l_max)),
                                            field_int("load_message_bytes", load_message_bytes(l_max))));
    }
    return sizes;
}

static json_t *memory_json(void)
{
    json_t *list = json_array();
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        json_array_append_new(list, json_string(memory_kinds[kind].name));
    return list;
}

static json_t *methods_json(void)
{
    json_t *averaged = json_object();
    for (int m = 0; m < METHODS; m++)
        object_add(averaged, field_bool(methods[m].name, methods[m].averaged));
    return averaged;
}

/* Whether each counter only increases, not a value that rises and falls. */
static json_t *counters_json(void)
{
    json_t *counts = json_object();
    for (const struct counter_row *row = counter_rows; row->name; row++)
        object_add(counts, field_bool(row->name, row->fold == FOLD_NONE || row->fold == FOLD_SUM));
    return counts;
}

int main(void)
{
    json_t *facts =
        OBJECT(field_json("sizes", sizes_json()), field_json("methods", methods_json()),
               field_json("groups", names(pattern_group_names, GROUP_PING_PONG + 1)), field_int("ring", RING_PATTERNS),
               field_int("random", RANDOM_PATTERNS), field_int("trial_loops", TRIAL_LOOPS),
               field_int("latency_loop", LATENCY_LOOP), field_int("longest_loop", default_request.longest_loop_length),
               field_int("repetitions", default_request.repetitions),
               field_json("reductions", names(reduction_names + 1, REDUCTIONS - 1)),
               field_json("memory_kinds", memory_json()), field_json("loads", names(load_kind_names, LOAD_KINDS)),
               field_text("load_method", methods[METHOD_NONBLOCKING].name),
               field_int("load_file_bytes", FILE_LOAD_BYTES), field_json("counters", counters_json()));
    json_dumpf(facts, stdout, 0);
    json_decref(facts);
}
