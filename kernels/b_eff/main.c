/* SPDX-License-Identifier: Apache-2.0 */
/* b_eff: the effective MPI communication bandwidth (Rabenseifner and Koniges, sections 2.1, 3.1 and 4). This kernel
 * measures and writes a log; the reduction to one number is done by postprocess. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "file_load.h"
#include "loaded.h"
#include "loop.h"
#include "measure.h"
#include "memories.h"
#include "memory.h"
#include "memory_kinds.h"
#include "methods.h"
#include "node_groups.h"
#include "pairwise.h"
#include "scratch.h"
#include "units.h"

#ifdef COFFEECUP_SIMULATED
/* A simulated node is as fast as its platform says: only planted slow ones could be found. It has no files. */
enum { MATCHINGS = 0, HAS_FILES = false };
#else
enum { MATCHINGS = 16, HAS_FILES = true };
#endif
enum { AVERAGED_GROUPS = 1u << GROUP_RING | 1u << GROUP_RANDOM };
enum { EVERY_GROUP = (1u << (GROUP_PING_PONG + 1)) - 1, EVERY_METHOD = (1u << METHODS) - 1 };
enum { FEWEST_RANKS = 2, MOST_MATCHINGS = 1000, MOST_NODES_ALL_PAIRS = 4096 };
static const int64_t smallest_memory = MIB; /* gives L_max = 8 KiB: above the fixed lengths */

struct choices {
    const char *log;
    int64_t memory_per_process, seed, first_loop_length, longest_loop, repetitions, random_patterns, matchings;
    const char *node_groups, *directory;
    bool all_pairs;
    double time_budget, idle_power;
    uint64_t patterns, methods, memory, loads;
    int64_t victims;
    bool memory_anyway;
};

static const char *const summary_text =
    "b_eff measures the effective communication bandwidth of an MPI system: all processes send messages to their\n"
    "neighbours in rings and in random orders at the same time. Messages have 21 lengths, up to 1/128 of the memory\n"
    "per process.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES b_eff [OPTION]...\n"
    "Example:  mpirun -n 16 b_eff --log b_eff.jsonl && coffeecup score b_eff.jsonl\n\n"
    "A run takes 1 to 4 minutes.";

/* Refuses impossible requests before anything is created. */
static void check_request(const struct run *run, const struct memories *memories, const struct choices *choices)
{
    const int buffers_on_host = 2 * memories_have_host(memories) + memories_have_device(memories);
    const int64_t buffers = buffers_on_host * walk_buffer_bytes(longest_message(memories->memory_per_process_bytes));
    if (memories->memory_per_process_bytes < smallest_memory)
        refuse("%" PRId64
               " bytes of memory per process are too few, at least 1 MiB is required; run fewer processes on a node",
               memories->memory_per_process_bytes);
    int too_much = choices->memory_per_process > run->machine.node_memory_bytes ||
                   buffers > run->machine.node_memory_bytes / run->machine.ranks_on_node / 2;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &too_much, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (too_much)
        refuse("--memory-per-process %" PRId64 " is more than a node has for each of its processes (rank 0: %" PRId64
               " bytes for %d processes); choose less or omit the option",
               choices->memory_per_process, run->machine.node_memory_bytes, run->machine.ranks_on_node);
}

/* Refuses what does not fit together with --load. */
static void check_load(const struct choices *choices)
{
    if (choices->victims && !choices->loads)
        refuse("--victims is the share of the nodes that --load measures; add --load or omit --victims");
    if (choices->loads &&
        (choices->memory || choices->all_pairs || choices->node_groups || choices->matchings != MATCHINGS))
        refuse("--load measures in memory of the host and no pairs of nodes; omit --memory, --matchings, --all-pairs "
               "and --node-groups");
    if (choices->loads && (choices->patterns != EVERY_GROUP || choices->methods != EVERY_METHOD))
        refuse("--load measures the patterns ring and random by nonblocking messages; omit --patterns and --methods");
}

static bool does_io(const struct choices *choices)
{
    return choices->loads >> LOAD_IO & 1;
}

static void check_files(const struct choices *choices)
{
    if (does_io(choices) && !HAS_FILES)
        refuse("--load io is not possible in a simulation, which has no file system; omit io");
    if (does_io(choices) && !choices->directory)
        refuse("--load io writes and reads files; name their directory with --directory");
    if (choices->directory && !does_io(choices))
        refuse("--directory is where --load io writes and reads files; add --load io or omit --directory");
}

static json_t *methods_of_pattern(const struct request *request, const struct pattern *pattern)
{
    json_t *list = json_array();
    for (int m = 0; m < METHODS; m++)
        if (can_run(request, pattern, m))
            json_array_append_new(list, json_string(methods[m].name));
    return list;
}

/* Takes ownership of `groups`, as pairwise_json(). */
static json_t *plan_json(const struct request *request, int ranks, json_t *groups)
{
    json_t *lengths = json_array(), *method_list = json_array(), *patterns = json_array();
    for (int k = 0; k < LENGTHS; k++)
        json_array_append_new(lengths, json_integer(request->length[k]));
    for (int m = 0; m < METHODS; m++)
        if (request->methods >> m & 1)
            json_array_append_new(method_list,
                                  json_pack("{s:s, s:b}", "name", methods[m].name, "averaged", methods[m].averaged));
    for (int p = 0; p < request->patterns; p++) {
        const struct pattern *pattern = &request->pattern[p];
        json_array_append_new(
            patterns,
            json_pack("{s:s, s:s, s:b, s:I, s:i, s:o, s:o, s:o*}", "name", pattern->name, "group",
                      pattern_group_names[pattern->group], "averaged", pattern->averaged, "messages_per_exchange",
                      (json_int_t)pattern->messages_per_exchange, "processes", pattern->processes, "rings",
                      rings_json(pattern, ranks), "methods", methods_of_pattern(request, pattern), "memory",
                      request->memories.chosen ? json_pack("[s, s]", memory_kind_names[pattern->memory[0]],
                                                           memory_kind_names[pattern->memory[1]])
                                               : NULL));
    }
    const int64_t l_max = request->length[LENGTHS - 1];
    return json_pack("{s:o, s:I, s:I, s:i, s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:o, s:o*, s:o*}", "message_bytes",
                     lengths, "l_max_bytes", (json_int_t)l_max, "buffer_bytes", (json_int_t)walk_buffer_bytes(l_max),
                     "repetitions", request->repetitions, "first_loop_length", (json_int_t)request->first_loop_length,
                     "longest_loop_length", (json_int_t)request->longest_loop_length, "random_patterns",
                     (json_int_t)request->random_patterns, "time_budget_seconds", request->time_budget_seconds, "seed",
                     (json_int_t)request->seed, "methods", method_list, "patterns", patterns, "matchings",
                     pairwise_json(&request->pairwise, groups), "memory", request->memories.description, "load",
                     load_kinds_json(&request->load, l_max));
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

static void print_table(const struct request *request, const struct summary *summaries, const struct choices *choices)
{
    printf("%-18s %10s %18s %20s\n", "pattern", "messages", "1 byte [us]", "L_max [MByte/s]");
    for (int p = 0; p < request->patterns; p++)
        printf("%-18s %10" PRId64 " %18.2f %20.0f\n", request->pattern[p].name,
               request->pattern[p].messages_per_exchange, 1e6 * summaries[p].shortest_exchange_seconds,
               1e-6 * summaries[p].largest_bandwidth);
    printf("Time of one exchange of 1 byte and accumulated bandwidth at L_max = %" PRId64 " byte, best method each.\n",
           request->length[LENGTHS - 1]);
    run_print_score_command(choices->log);
}

static struct pairwise plan_of_nodes(const struct nodes *nodes, const struct choices *choices, const int64_t *length)
{
    const int64_t matchings = choices->loads ? 0 : choices->matchings;
    const struct pairwise plan =
        pairwise_plan(nodes, matchings, choices->all_pairs, length, choices->longest_loop, choices->time_budget);
    if (plan.all_pairs && (plan.matchings == 0 || nodes->count > MOST_NODES_ALL_PAIRS))
        refuse("--all-pairs requires 2 to %d nodes and --matchings of at least 1; this run has %d nodes and "
               "--matchings %" PRId64,
               MOST_NODES_ALL_PAIRS, nodes->count, choices->matchings);
    return plan;
}

/* Measures and ends the run; returns the exit status. */
static int measure_request(struct run *run, struct request *request, const struct choices *choices)
{
    struct summary *summaries = allocate((size_t)request->patterns, sizeof *summaries);
    if (does_io(choices))
        scratch_create(choices->directory, run->program->name, false);
    if (choices->loads)
        measure_loaded(run, request);
    else
        measure(run, request, summaries);
    if (does_io(choices))
        scratch_remove();
    load_end(&request->load);
    const int status = run_end(run);
    if (run->rank == 0 && status == EXIT_COMPLETE && choices->loads)
        run_print_score_command(choices->log);
    else if (run->rank == 0 && status == EXIT_COMPLETE)
        print_table(request, summaries, choices);
    free(summaries);
    return status;
}

static int run_b_eff(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, &choices->memory_per_process);
    if (run.ranks < FEWEST_RANKS)
        refuse("b_eff requires at least two processes, this run has %d; start it with 'mpirun -n 2 b_eff'", run.ranks);
    const struct memories memories = memories_open(&run, choices->memory, choices->memory_anyway);
    check_request(&run, &memories, choices);
    check_load(choices);
    check_files(choices);

    struct filesystem filesystem = {.directory = ""};
    if (does_io(choices))
        filesystem = file_load_describe(&run, choices->directory, FILE_LOAD_BYTES);
    struct pattern *patterns;
    struct nodes nodes = nodes_find(run.machine.leader);
    struct request request = {
        .methods = choices->loads ? 1u << METHOD_NONBLOCKING : choices->methods,
        .seed = (uint64_t)choices->seed,
        .repetitions = (int)choices->repetitions,
        .first_loop_length = choices->first_loop_length,
        .longest_loop_length = choices->longest_loop,
        .random_patterns = choices->random_patterns,
        .time_budget_seconds = choices->time_budget,
        .memories = memories,
        .load = load_begin(&nodes, choices->loads, choices->victims, (uint64_t)choices->seed, FEWEST_NODES_OF_A_ROLE)};
    message_lengths(longest_message(memories.memory_per_process_bytes), request.length);
    const int known =
        list_patterns(request.load.measured_ranks, choices->loads ? AVERAGED_GROUPS : choices->patterns, &patterns);
    request.patterns = memories_repeat(&memories, &patterns, keep_runnable(&request, patterns, known));
    request.pattern = patterns;
    if (request.patterns == 0)
        refuse("nothing to measure: none of the --methods applies to any of the --patterns (blocking applies to "
               "ping_pong, "
               "the other methods to all other patterns)");
    json_t *groups = choices->node_groups ? nodes_read_groups(&nodes, choices->node_groups, run.machine.hosts) : NULL;
    request.pairwise = plan_of_nodes(&nodes, choices, request.length);
    run.idle_seconds = choices->idle_power;
    run_open_log(&run, choices->log, argv, does_io(choices) ? &filesystem : NULL,
                 run.rank == 0 ? plan_json(&request, request.load.measured_ranks, groups) : NULL);

    const int status = measure_request(&run, &request, choices);
    nodes_free(&nodes);
    free(patterns);
    return status;
}

/* The options that enter the published definition keep their defaults in an official run. */
static const struct choices defaults = {.log = "b_eff.jsonl",
                                        .seed = 1,
                                        .first_loop_length = 300,
                                        .longest_loop = LONGEST_LOOP,
                                        .repetitions = REPETITIONS,
                                        .random_patterns = RANDOM_PATTERNS,
                                        .matchings = MATCHINGS,
                                        .time_budget = 240,
                                        .patterns = EVERY_GROUP,
                                        .methods = EVERY_METHOD};

int main(int argc, char **argv)
{
    struct choices choices = defaults;
    const struct option_row rows[] = {
        OPTION_LOG(&choices.log),
        {"memory-per-process", OPTION_SIZE, &choices.memory_per_process, "SIZE",
         "memory per process, of which L_max is 1/128, at most 128 MiB; default: the node's memory or control\n"
         "        group limit, divided by the number of processes on the node",
         smallest_memory, INT64_C(1) << 50, NULL},
        {"time-budget", OPTION_SECONDS, &choices.time_budget, "SECONDS",
         "time for the whole run; if necessary, slower methods are left out for long messages. The log states\n"
         "        where",
         1, 86400, NULL},
        {"patterns", OPTION_LIST, &choices.patterns, "LIST",
         "groups of patterns to run; b_eff requires ring and random", 0, 0, pattern_group_names},
        {"methods", OPTION_LIST, &choices.methods, "LIST",
         "methods to run; the best of the first three enters b_eff, blocking is for the ping-pong", sizeof methods[0],
         0, &methods[0].name},
        {"seed", OPTION_COUNT, &choices.seed, "N", "seed of the random patterns and matchings", 0, INT64_MAX, NULL},
        {"first-loop-length", OPTION_COUNT, &choices.first_loop_length, "N",
         "exchanges in the first timed loop of a pattern; later loops are adapted to take 2.5 to 5 ms", 1, 100000,
         NULL},
        {"longest-loop", OPTION_COUNT, &choices.longest_loop, "N",
         "maximum number of exchanges in a timed loop; one is enough in a simulation, where time has no noise", 1,
         LONGEST_LOOP, NULL},
        {"repetitions", OPTION_COUNT, &choices.repetitions, "N", "repetitions of each measurement", 1, REPETITIONS,
         NULL},
        {"random-patterns", OPTION_COUNT, &choices.random_patterns, "N", "number of random patterns to run", 1,
         RANDOM_PATTERNS, NULL},
        {"matchings", OPTION_COUNT, &choices.matchings, "N",
         "random matchings of the nodes, which show slow nodes and do not enter b_eff; 0: none", 0, MOST_MATCHINGS,
         NULL},
        {"node-groups", OPTION_INPUT, &choices.node_groups, "FILE",
         "groups of nodes, such as those of a leaf switch: a line 'NODE GROUP' for each node. Matchings are first\n"
         "        within groups, then across",
         0, 0, NULL},
        {"all-pairs", OPTION_FLAG, &choices.all_pairs, NULL,
         "measure each pair of nodes at L_max as well, after the other measurements; takes additional time", 0, 0,
         NULL},
        {"memory", OPTION_LIST, &choices.memory, "LIST",
         "kinds of memory in which messages are, of the host and of accelerators; each pattern is measured in each\n"
         "        kind. Default: host, with fewer records in the log",
         0, 0, memory_kind_names},
        OPTION_IDLE_POWER(&choices.idle_power),
        {"memory-anyway", OPTION_SWITCH, &choices.memory_anyway, NULL,
         "try --memory even if the MPI library does not state that it supports the kind", 0, 0, NULL},
        LOAD_OPTIONS(&choices.loads, &choices.victims, &choices.directory),
        {0}};
    const struct program program = {"b_eff", summary_text, usage_text, rows};
    return run_b_eff(&program, &choices, argc, argv);
}
