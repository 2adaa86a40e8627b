/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be measured: the options and what follows from them, and the log's description of it. b_eff and
 * benchmarks that are built on its loops share it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "hang.h"
#include "lengths.h"
#include "memories.h"
#include "options.h"
#include "patterns.h"
#include "run.h"
#include "timed.h"

enum { LONGEST_LOOP = 100000, REPETITIONS = 3 };

enum { SMALLEST_MEMORY = 1 << 20 }; /* gives L_max = 8 KiB: above the fixed lengths */

/* The options of all of these benchmarks, which are stored in the request. */
#define LOOP_OPTIONS(request)                                                                                         \
    SIZE_OPTION(                                                                                                      \
        "memory-per-process", &(request)->memory_option_bytes, SMALLEST_MEMORY, INT64_C(1) << 50,                     \
        "memory per process, of which L_max is 1/128, at most 128 MiB; default: the node's memory or control\n"       \
        "        group limit, divided by the number of processes on the node"),                                       \
        COUNT_OPTION("seed", &(request)->seed, "N", 0, INT64_MAX, "seed of everything that is chosen at random"),     \
        COUNT_OPTION("first-loop-length", &(request)->first_loop_length, "N", 1, 100000,                              \
                     "exchanges in the first timed loop of a pattern; later loops are adapted to take 2.5 to 5 ms"),  \
        COUNT_OPTION(                                                                                                 \
            "longest-loop", &(request)->longest_loop_length, "N", 1, LONGEST_LOOP,                                    \
            "maximum number of exchanges in a timed loop; one is enough in a simulation, where time has no noise"),   \
        COUNT_OPTION("repetitions", &(request)->repetitions, "N", 1, REPETITIONS, "repetitions of each measurement"), \
        COUNT_OPTION("random-patterns", &(request)->random_patterns, "N", 1, RANDOM_PATTERNS,                         \
                     "number of random patterns to run"),                                                             \
        OPTION_IDLE_POWER, OPTION_MESSAGES_HANG_AFTER

struct request {
    uint64_t methods;            /* a bit per row of the table of methods */
    int64_t memory_option_bytes; /* per process; 0: that of the machine */
    int64_t seed, repetitions, first_loop_length, longest_loop_length, random_patterns;
    double time_budget_seconds;
    double reserved_seconds; /* of them, for what is measured after the patterns */
    struct memories memories;
    int64_t length[LENGTHS];
    int ranks, patterns; /* processes that run the patterns, and the number of these */
    struct pattern *pattern;
};

/* The options of an official run, which enter the published definition; without methods. */
extern const struct request default_request;

/* Completes a request whose options and methods are set, for `ranks` processes, with the patterns of `groups` (a bit
 * per group) that one of its methods can run. Refuses impossible ones before anything is created. The caller frees
 * `pattern`. Collective. */
struct request request_begin(const struct run *run, struct request request, const struct memories *memories, int ranks,
                             uint64_t groups);

/* Whether a method of the request can run a pattern. */
bool can_run(const struct request *request, const struct pattern *pattern, int method);

/* The log's plan. Rank 0. */
json_t *request_json(const struct request *request);

/* The log's fields of a timed loop. Rank 0. */
json_t *loop_json(int repetition, const struct pattern *pattern, int method, int64_t bytes, int64_t loop_length,
                  const struct result *result);
