/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. */
#include "request.h"

#include <inttypes.h>

#include "fail.h"
#include "methods.h"

const struct request default_request = {.seed = 1,
                                        .first_loop_length = 300,
                                        .longest_loop_length = LONGEST_LOOP,
                                        .repetitions = REPETITIONS,
                                        .random_patterns = RANDOM_PATTERNS,
                                        .time_budget_seconds = 240};

static void check_memory(const struct run *run, const struct memories *memories, int64_t requested)
{
    const int64_t buffers =
        memories_buffers_on_host(memories) * walk_buffer_bytes(longest_message(memories->memory_per_process_bytes));
    if (memories->memory_per_process_bytes < SMALLEST_MEMORY)
        refuse("%" PRId64
               " bytes of memory per process are too few, at least 1 MiB is required; run fewer processes on a node",
               memories->memory_per_process_bytes);
    int too_much = requested > run->machine.node_memory_bytes ||
                   buffers > run->machine.node_memory_bytes / run->machine.ranks_on_node / 2;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &too_much, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (too_much)
        refuse("--memory-per-process %" PRId64 " is more than a node has for each of its processes (rank 0: %" PRId64
               " bytes for %d processes); choose less or omit the option",
               requested, run->machine.node_memory_bytes, run->machine.ranks_on_node);
}

bool can_run(const struct request *request, const struct pattern *pattern, int method)
{
    return request->methods >> method & 1 && methods[method].applies(pattern);
}

/* Removes patterns for which no method was requested, and random patterns beyond the requested number. */
static int keep_runnable(const struct request *request, struct pattern *list, int count)
{
    int kept = 0;
    for (int p = 0; p < count; p++) {
        const bool wanted = list[p].group != GROUP_RANDOM || list[p].index < request->random_patterns;
        bool runnable = false;
        for (int m = 0; m < METHODS; m++)
            runnable = runnable || can_run(request, &list[p], m);
        if (wanted && runnable)
            list[kept++] = list[p];
    }
    return kept;
}

struct request request_begin(const struct run *run, struct request request, const struct memories *memories, int ranks,
                             uint64_t groups)
{
    check_memory(run, memories, request.memory_option_bytes);
    request.memories = *memories;
    request.ranks = ranks;
    message_lengths(longest_message(memories->memory_per_process_bytes), request.length);
    const int known = list_patterns(ranks, groups, &request.pattern);
    request.patterns = memories_repeat(memories, &request.pattern, keep_runnable(&request, request.pattern, known));
    return request;
}

static json_t *methods_of_pattern(const struct request *request, const struct pattern *pattern)
{
    json_t *list = json_array();
    for (int m = 0; m < METHODS; m++)
        if (can_run(request, pattern, m))
            json_array_append_new(list, json_string(methods[m].name));
    return list;
}

static json_t *pattern_json(const struct request *request, const struct pattern *pattern)
{
    json_t *plan = OBJECT(
        field_text("name", pattern->name), field_text("group", pattern_group_names[pattern->group]),
        field_bool("averaged", pattern->averaged), field_int("messages_per_exchange", pattern->messages_per_exchange),
        field_int("processes", pattern->processes), field_json("rings", rings_json(pattern, request->ranks)),
        field_json("methods", methods_of_pattern(request, pattern)));
    memories_describe_pattern(&request->memories, pattern, plan);
    return plan;
}

json_t *request_json(const struct request *request)
{
    json_t *lengths = json_array(), *method_list = json_array(), *patterns = json_array();
    for (int k = 0; k < LENGTHS; k++)
        json_array_append_new(lengths, json_integer(request->length[k]));
    for (int m = 0; m < METHODS; m++)
        if (request->methods >> m & 1)
            json_array_append_new(
                method_list, OBJECT(field_text("name", methods[m].name), field_bool("averaged", methods[m].averaged)));
    for (int p = 0; p < request->patterns; p++)
        json_array_append_new(patterns, pattern_json(request, &request->pattern[p]));
    const int64_t l_max = request->length[LENGTHS - 1];
    return OBJECT(field_json("message_bytes", lengths), field_int("l_max_bytes", l_max),
                  field_int("buffer_bytes", walk_buffer_bytes(l_max)), field_int("repetitions", request->repetitions),
                  field_int("first_loop_length", request->first_loop_length),
                  field_int("longest_loop_length", request->longest_loop_length),
                  field_int("random_patterns", request->random_patterns),
                  field_real("time_budget_seconds", request->time_budget_seconds), field_int("seed", request->seed),
                  field_json("methods", method_list), field_json("patterns", patterns));
}

json_t *loop_json(int repetition, const struct pattern *pattern, int method, int64_t bytes, int64_t loop_length,
                  const struct result *result)
{
    return OBJECT(field_int("repetition", repetition), field_text("pattern", pattern->name),
                  field_text("method", methods[method].name), field_int("message_bytes", bytes),
                  field_int("loop_length", loop_length), field_real("elapsed_seconds", result->elapsed_seconds),
                  field_real("fastest_seconds", result->fastest_seconds),
                  field_real("slowest_message_seconds", result->slowest_message_seconds));
}
