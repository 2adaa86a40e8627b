/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels b_eff_io and b_eff_io_load have in common with postprocess, as JSON. */
#include <stdio.h>

#include "loop.h"
#include "plan.h"
#include "record.h"
#include "units.h"
#include "walk.h"

/* What follows from each memory of a node: M_PART, and l, L, U of each pattern, in bytes. */
static json_t *sizes_json(void)
{
    static const int64_t memory[] = {GIB / 8, 3 * GIB / 8 + 12345, 100 * GIB, 128 * GIB, 1000 * GIB};
    json_t *sizes = json_array();
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        struct pattern pattern[PATTERNS];
        json_t *patterns = json_array();
        list_patterns(m_part_rule(memory[i]), pattern);
        for (int p = 0; p < PATTERNS; p++) {
            const int64_t l = pattern[p].chunk_bytes, call = pattern[p].call_bytes;
            json_array_append_new(patterns, OBJECT(field_text("type", pattern_types[pattern[p].type].name),
                                                   field_int_or_null("chunk_bytes", l, l),
                                                   field_int_or_null("call_bytes", call, call),
                                                   field_int("units", pattern[p].units)));
        }
        json_array_append_new(sizes, OBJECT(field_int("node_memory_bytes", memory[i]),
                                            field_int("m_part_bytes", m_part_rule(memory[i])),
                                            field_json("patterns", patterns)));
    }
    return sizes;
}

static json_t *types_json(void)
{
    json_t *types = json_object();
    for (int t = 0; t < TYPES; t++) {
        const struct pattern_type *type = &pattern_types[t];
        const struct pattern pattern = {.type = (enum type_number)t};
        object_add(types,
                   field_json(type->name,
                              OBJECT(field_bool("averaged", type->averaged), field_bool("collective", type->collective),
                                     field_bool("separate", type->separate), field_bool("segmented", type->segmented),
                                     field_bool("time_driven", is_time_driven(&pattern)))));
    }
    return types;
}

static json_t *partitions_json(void)
{
    json_t *partitions = json_object();
    for (int ranks = 1; ranks < 3000; ranks += ranks / 4 + 1) {
        char name[16];
        int list[MOST_PARTITIONS];
        const int count = default_partitions(ranks, list);
        snprintf(name, sizeof name, "%d", ranks);
        object_add(partitions, field_json(name, list_of_ints(list, count)));
    }
    return partitions;
}

static json_t *names_json(const char *const *name, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(name[i]));
    return list;
}

int main(void)
{
    json_t *methods_list = json_array();
    for (int m = 0; m < METHODS; m++)
        json_array_append_new(methods_list, json_string(methods[m].name));
    json_t *facts =
        OBJECT(field_json("sizes", sizes_json()), field_json("types", types_json()),
               field_json("methods", methods_list), field_json("partitions", partitions_json()),
               field_json("endings", names_json(ending_names, ENDINGS)), field_int("units", SUM_UNITS),
               field_int("period_bytes", PERIOD_BYTES), field_json("loads", names_json(load_kind_names, LOAD_KINDS)),
               field_int("load_repetitions", LOAD_REPETITIONS), field_int("most_loaded_calls", MOST_LOADED_CALLS),
               field_json("load_patterns", list_of_ints(load_patterns, LOAD_PATTERNS)));
    json_dumpf(facts, stdout, 0);
    json_decref(facts);
}
