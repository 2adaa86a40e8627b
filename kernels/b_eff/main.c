/* SPDX-License-Identifier: Apache-2.0 */
/* b_eff: the effective MPI communication bandwidth (Rabenseifner and Koniges, sections 2.1, 3.1 and 4). This kernel
 * measures and writes a log; the reduction to one number is done by postprocess. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "measure.h"
#include "memories.h"
#include "memory.h"
#include "methods.h"
#include "pairwise.h"
#include "request.h"

enum { EVERY_GROUP = (1u << (GROUP_PING_PONG + 1)) - 1, EVERY_METHOD = (1u << METHODS) - 1 };
enum { FEWEST_RANKS = 2 };

struct choices {
    struct request request;
    struct pairwise_choices matchings;
    struct memory_choices memory;
    const char *log;
    uint64_t patterns;
};

static const char *const summary_text =
    "b_eff measures the effective communication bandwidth of an MPI system: all processes send messages to their\n"
    "neighbours in rings and in random orders at the same time. Messages have 21 lengths, up to 1/128 of the memory\n"
    "per process.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES b_eff [OPTION]...\n"
    "Example:  mpirun -n 16 b_eff --log b_eff.jsonl && coffeecup score b_eff.jsonl\n\n"
    "A run takes 1 to 4 minutes.";

static json_t *plan_json(const struct request *request, const struct pairwise *matchings)
{
    json_t *plan = request_json(request);
    object_add(plan, field_json("matchings", pairwise_json(matchings, request)));
    memories_describe(&request->memories, plan);
    return plan;
}

static void print_value(int width, int decimals, double value) /* 0: a stopped run has none */
{
    if (value > 0)
        printf(" %*.*f", width, decimals, value);
    else
        printf(" %*s", width, "-");
}

static void print_table(const struct request *request, const struct summary *summaries, const struct choices *choices)
{
    printf("%-18s %10s %18s %20s\n", "pattern", "messages", "1 byte [us]", "L_max [MByte/s]");
    for (int p = 0; p < request->patterns; p++) {
        printf("%-18s %10" PRId64, request->pattern[p].name, request->pattern[p].messages_per_exchange);
        print_value(18, 2, 1e6 * summaries[p].shortest_exchange_seconds);
        print_value(20, 0, 1e-6 * summaries[p].largest_bandwidth);
        printf("\n");
    }
    printf("Time of one exchange of 1 byte and accumulated bandwidth at L_max = %" PRId64 " byte, best method each.\n",
           request->length[LENGTHS - 1]);
    run_print_score_command(choices->log);
}

static int run_b_eff(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, &choices->request.memory_option_bytes);
    if (run.ranks < FEWEST_RANKS)
        refuse("b_eff requires at least two processes, this run has %d; start it with 'mpirun -n 2 b_eff'", run.ranks);
    const struct memories memories = memories_open(&run, &choices->memory);
    struct request request = request_begin(&run, choices->request, &memories, run.ranks, choices->patterns);
    if (request.patterns == 0)
        refuse("nothing to measure: none of the --methods applies to any of the --patterns (blocking applies to "
               "ping_pong, "
               "the other methods to all other patterns)");
    struct pairwise matchings = pairwise_begin(&run, &choices->matchings, &request);
    run_open_log(&run, choices->log, argv, NULL, run.rank == 0 ? plan_json(&request, &matchings) : NULL);

    struct summary *summaries = allocate((size_t)request.patterns, sizeof *summaries);
    struct loops loops = loops_begin(&run, &request.memories, request.length[LENGTHS - 1]);
    if (measure(&run, &request, &loops, summaries))
        pairwise_measure(&run, &request, &matchings, &loops);
    loops_end(&loops);
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE)
        print_table(&request, summaries, choices);
    free(summaries);
    pairwise_end(&matchings);
    free(request.pattern);
    return status;
}

int main(int argc, char **argv)
{
    struct choices choices = {
        .request = default_request, .log = "b_eff.jsonl", .matchings = default_matchings, .patterns = EVERY_GROUP};
    choices.request.methods = EVERY_METHOD;
    const struct option_row rows[] = {
        OPTION_LOG(&choices.log),
        SECONDS_OPTION(
            "time-budget", &choices.request.time_budget_seconds, 1, 86400,
            "time for the whole run; if necessary, slower methods are left out for long messages. The log states\n"
            "        where"),
        LIST_OPTION("patterns", &choices.patterns, pattern_group_names,
                    "groups of patterns to run; b_eff requires ring and random"),
        TABLE_OPTION("methods", &choices.request.methods, methods,
                     "methods to run; the best of the first three enters b_eff, blocking is for the ping-pong"),
        LOOP_OPTIONS(&choices.request),
        PAIRWISE_OPTIONS(&choices.matchings),
        MEMORY_OPTIONS(&choices.memory),
        {0}};
    const struct program program = {"b_eff", summary_text, usage_text, rows};
    return run_b_eff(&program, &choices, argc, argv);
}
