/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. */
#include "request.h"

#include <inttypes.h>

#include "fail.h"
#include "methods.h"

const struct loop_choices default_loops = {.seed = 1,
                                           .first_loop_length = 300,
                                           .longest_loop = LONGEST_LOOP,
                                           .repetitions = REPETITIONS,
                                           .random_patterns = RANDOM_PATTERNS,
                                           .time_budget = 240};

static void check_memory(const struct run *run, const struct memories *memories, int64_t requested)
{
    const int buffers_on_host = 2 * memories_have_host(memories) + memories_have_device(memories);
    const int64_t buffers = buffers_on_host * walk_buffer_bytes(longest_message(memories->memory_per_process_bytes));
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

struct request request_begin(struct run *run, const struct loop_choices *choices, const struct memories *memories,
                             int ranks, uint64_t chosen, uint64_t groups)
{
    check_memory(run, memories, choices->memory_per_process);
    run->idle_seconds = choices->idle_power;
    struct request request = {.methods = chosen,
                              .seed = (uint64_t)choices->seed,
                              .repetitions = (int)choices->repetitions,
                              .first_loop_length = choices->first_loop_length,
                              .longest_loop_length = choices->longest_loop,
                              .random_patterns = choices->random_patterns,
                              .time_budget_seconds = choices->time_budget,
                              .memories = *memories,
                              .ranks = ranks};
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
    return json_pack("{s:s, s:s, s:b, s:I, s:i, s:o, s:o, s:o*}", "name", pattern->name, "group",
                     pattern_group_names[pattern->group], "averaged", pattern->averaged, "messages_per_exchange",
                     (json_int_t)pattern->messages_per_exchange, "processes", pattern->processes, "rings",
                     rings_json(pattern, request->ranks), "methods", methods_of_pattern(request, pattern), "memory",
                     request->memories.chosen ? json_pack("[s, s]", memory_kind_names[pattern->memory[0]],
                                                          memory_kind_names[pattern->memory[1]])
                                              : NULL);
}

json_t *request_json(const struct request *request)
{
    json_t *lengths = json_array(), *method_list = json_array(), *patterns = json_array();
    for (int k = 0; k < LENGTHS; k++)
        json_array_append_new(lengths, json_integer(request->length[k]));
    for (int m = 0; m < METHODS; m++)
        if (request->methods >> m & 1)
            json_array_append_new(method_list,
                                  json_pack("{s:s, s:b}", "name", methods[m].name, "averaged", methods[m].averaged));
    for (int p = 0; p < request->patterns; p++)
        json_array_append_new(patterns, pattern_json(request, &request->pattern[p]));
    const int64_t l_max = request->length[LENGTHS - 1];
    return json_pack("{s:o, s:I, s:I, s:i, s:I, s:I, s:I, s:f, s:I, s:o, s:o}", "message_bytes", lengths, "l_max_bytes",
                     (json_int_t)l_max, "buffer_bytes", (json_int_t)walk_buffer_bytes(l_max), "repetitions",
                     request->repetitions, "first_loop_length", (json_int_t)request->first_loop_length,
                     "longest_loop_length", (json_int_t)request->longest_loop_length, "random_patterns",
                     (json_int_t)request->random_patterns, "time_budget_seconds", request->time_budget_seconds, "seed",
                     (json_int_t)request->seed, "methods", method_list, "patterns", patterns);
}

json_t *loop_json(int repetition, const struct pattern *pattern, int method, int64_t bytes, int64_t loop_length,
                  const struct result *result)
{
    return json_pack("{s:i, s:s, s:s, s:I, s:I, s:f, s:f, s:f}", "repetition", repetition, "pattern", pattern->name,
                     "method", methods[method].name, "message_bytes", (json_int_t)bytes, "loop_length",
                     (json_int_t)loop_length, "elapsed_seconds", result->elapsed_seconds, "fastest_seconds",
                     result->fastest_seconds, "slowest_message_seconds", result->slowest_message_seconds);
}
