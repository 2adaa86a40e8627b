/* SPDX-License-Identifier: Apache-2.0 */
/* The communication patterns of b_eff (paper, section 4). A pattern is a pure function: from the number of processes
 * and a rank to the ranks with which that rank exchanges messages. No MPI communication here. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_TRANSFERS = 6, PATTERN_NAME_LENGTH = 64, RING_PATTERNS = 6, RANDOM_PATTERNS = 30 };

enum pattern_group {
    GROUP_RING,
    GROUP_RANDOM,
    GROUP_WORST_CYCLE,
    GROUP_BISECTION,
    GROUP_CARTESIAN_2D,
    GROUP_CARTESIAN_3D,
    GROUP_PING_PONG
};
extern const char *const pattern_group_names[]; /* NULL-terminated, indexed by enum pattern_group */

struct pattern {
    char name[PATTERN_NAME_LENGTH];
    enum pattern_group group;
    int index; /* in its group, from 0 */
    bool averaged;
    int64_t messages_per_exchange; /* of all processes */
    int processes;                 /* that send or receive */
    int memory[2]; /* [1]: kind of the process at position 1, [0]: of all others; may differ in the ping-pong */
};

/* One message to send and one to receive, at the same place in both buffers. */
struct transfer {
    int to, from;
};

/* One rank's part. Ranks with the same `color` communicate with each other and are numbered by `position`; `to` and
 * `from` are positions. */
struct layout {
    int color; /* -1: this rank does not take part */
    int position;
    bool takes_turns; /* of two processes: by sendrecv and blocking, position 0 sends first, then position 1 */
    int transfers;
    struct transfer transfer[MOST_TRANSFERS];
};

/* Rings are consecutive ranges of ranks: `count[0]` rings of `size[0]`, then `count[1]` of `size[1]` (may be 0). */
struct rings {
    int size[2], count[2];
};
struct rings ring_sizes(int ranks, int index);

/* All patterns of the chosen groups (a bit per group) that `ranks` processes can run, in the order of measuring.
 * Returns their number; the caller frees the list. */
int list_patterns(int ranks, uint64_t chosen, struct pattern **list);

/* The part of `rank`. `order` has room for `ranks` numbers; only random patterns use it. */
struct layout pattern_layout(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order);

/* The log's description of the rings, null for patterns without rings. */
json_t *rings_json(const struct pattern *pattern, int ranks);
