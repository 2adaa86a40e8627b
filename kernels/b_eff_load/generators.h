/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that generate load: each sends messages to others, several at once, until it is stopped. */
#pragma once

#include <stdint.h>

#include "kinds.h"
#include "timed.h"

/* On each generating process: generates load of this kind until stop_generators(). `root` is the process of
 * `load->generators` to which all send in an incast, and which sends to all in a broadcast. Messages have `bytes`. */
struct traffic generate(const struct load *load, enum load_kind kind, int root, const struct loops *loops,
                        int64_t bytes);
