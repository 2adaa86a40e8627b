/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of memory in which a run measures (--memory): its patterns, each repeated in every kind, the devices of the
 * processes, and the memory per process from which L_max follows. */
#ifndef B_EFF_MEMORIES_H
#define B_EFF_MEMORIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "patterns.h"
#include "run.h"

struct memories {
    uint64_t chosen;                  /* a bit per kind; 0: without --memory, in memory of the host */
    int first;                        /* kind, that of the loops that show slow nodes */
    int64_t memory_per_process_bytes; /* the least of the kinds */
    json_t *description;              /* rank 0: the plan's `memory`; else NULL, and without --memory */
};

/* Opens the kinds and selects the devices. Refuses the run if a kind is not available, or if the MPI library does not
 * support it and `anyway` is not set. Collective. */
struct memories memories_open(const struct run *run, uint64_t chosen, bool anyway);

/* Repeats each of `count` patterns in every kind, one after the other, and the ping-pong between two kinds as well.
 * Replaces `list`; returns the number of patterns. Without --memory it changes nothing. */
int memories_repeat(const struct memories *memories, struct pattern **list, int count);

/* Adds the kinds of a pattern to its description in the plan. Without --memory it changes nothing. */
void memories_describe(const struct memories *memories, const struct pattern *pattern, json_t *plan);

/* Whether a run allocates memory of the host for buffers, and of a device. */
bool memories_have_host(const struct memories *memories);
bool memories_have_device(const struct memories *memories);

#endif
