/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips of short messages between the nodes of a matching, each timed by itself: the longest of them show what
 * costs no bandwidth. A lost packet, after which no other one follows, is missed only after a timeout. */
#pragma once

#include "pairwise_loop.h"

enum { TAIL_LOOP = 250, TAIL_LOOPS = 4 }; /* at most so many loops a matching */

/* The matching is that of `state->partner`, with one process per node. Collective. */
void measure_tails(struct pairwise_state *state, const char *scope, int matching);
