/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that generate load: each sends messages to others, several at once, until it is stopped. */
#ifndef B_EFF_GENERATORS_H
#define B_EFF_GENERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "load.h"
#include "timed.h"

enum generator_tag { TAG_LOAD = 1, TAG_READY, TAG_STOP };
enum { REASON_BYTES = 512 };

/* What a process moved from the time when its load was there until it was told to stop. Of files: sent is written,
 * received is read. */
struct traffic {
    double seconds;
    int64_t sent_bytes, received_bytes;
    int64_t cached_bytes;      /* of a file, that were in the page cache when they were to be read */
    bool sends;                /* it has processes to send to, or a file */
    char reason[REASON_BYTES]; /* why a file could not be written or read; "" */
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
