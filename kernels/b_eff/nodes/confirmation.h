/* SPDX-License-Identifier: Apache-2.0 */
/* Suspected nodes are measured again, each with two good nodes, and these with each other, while all others rest. */
#pragma once

#include "pairwise_loop.h"

/* Rank 0 chooses, the log states whom. Returns how many suspects have good nodes to be compared with. Collective. */
int choose_suspects(struct pairwise_state *state);

/* Measures the pairs of one of them in rounds, until it is decided or the time is over. Collective. */
void measure_suspect(struct pairwise_state *state, int number);
