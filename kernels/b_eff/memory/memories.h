/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of memory in which a run measures (--memory): its patterns, each repeated in every kind, the devices of the
 * processes, and the memory per process from which L_max follows. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "memory_kinds.h"
#include "options.h"
#include "patterns.h"
#include "run.h"

struct memory_choices {
    uint64_t kinds; /* a bit per kind */
    bool anyway;
};

#define MEMORY_OPTIONS(choices)                                                                                      \
    TABLE_OPTION(                                                                                                    \
        "memory", &(choices)->kinds, memory_kinds,                                                                   \
        "kinds of memory in which messages are, of the host and of accelerators; each pattern is measured in each\n" \
        "        kind. Default: host, with fewer records in the log"),                                               \
        FLAG_OPTION("memory-anyway", &(choices)->anyway,                                                             \
                    "try --memory even if the MPI library does not state that it supports the kind")

struct memories {
    uint64_t chosen;                  /* a bit per kind; 0: without --memory, in memory of the host */
    int first;                        /* kind, that of the loops that show slow nodes */
    int64_t memory_per_process_bytes; /* the least of the kinds */
    json_t *description;              /* rank 0: the plan's `memory`; else NULL, and without --memory */
};

/* Opens the kinds and selects the devices. Refuses the run if a kind is not available, or if the MPI library does not
 * support it and `anyway` is not set. Collective. */
struct memories memories_open(const struct run *run, const struct memory_choices *choices);

/* Repeats each of `count` patterns in every kind, one after the other, and the ping-pong between two kinds as well.
 * Replaces `list`; returns the number of patterns. Without --memory it changes nothing. */
int memories_repeat(const struct memories *memories, struct pattern **list, int count);

/* Add the kinds to the log's plan, and those of a pattern to its description. Without --memory they change nothing.
 * Rank 0. */
void memories_describe(const struct memories *memories, json_t *plan);
void memories_describe_pattern(const struct memories *memories, const struct pattern *pattern, json_t *description);

bool memories_have_host(const struct memories *memories);

/* How many buffers a run has in memory of the host (buffers.h). */
int memories_buffers_on_host(const struct memories *memories);
