/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that generate load: each sends messages to others, several at once, until it is stopped. */
#ifndef B_EFF_GENERATORS_H
#define B_EFF_GENERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "load.h"
#include "timed.h"

/* What a process moved from the time when its load was there until it was told to stop. */
struct traffic {
    double seconds;
    int64_t sent_bytes, received_bytes;
    bool sends; /* it has processes to send to */
};

/* On each generating process: generates load of this kind until stop_generators(). `root` is the process of
 * `load->generators` to which all send in an incast, and which sends to all in a broadcast. Messages have `bytes`. */
struct traffic generate(const struct load *load, enum load_kind kind, int root, const struct loops *loops,
                        int64_t bytes);

/* On rank 0 while all generating processes are in generate(): waits until each has moved a message, and tells each to
 * stop. */
void await_generators(const struct load *load);
void stop_generators(const struct load *load);

#endif
