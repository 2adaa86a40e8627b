/* SPDX-License-Identifier: Apache-2.0 */
/* The timed region: loops of exchanges through buffers that are larger than caches, and the check of every byte
 * received. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "buffers.h"
#include "memories.h"
#include "methods.h"
#include "run.h"

/* The buffers through which messages walk, and counts. */
struct loops {
    const struct run *run;
    struct buffers buffers;
    size_t next_place;                     /* where the next loop begins */
    double last_seconds, last_bytes;       /* of the last loop: its time, and the bytes of each of its messages */
    long count;                            /* of timed loops so far, the same on all ranks */
    int64_t received_bytes, checked_bytes; /* of this rank */
};

/* The times of a loop. */
struct result {
    double elapsed_seconds, fastest_seconds; /* on the slowest and on the fastest process */
    double own_seconds;                      /* on this process; NAN if it does not take part */
    double slowest_message_seconds;          /* maximum of: time of a process / messages that it sends in an exchange */
};

/* Size of the send buffer and of the receive buffer for L_max = `l_max` bytes. */
int64_t walk_buffer_bytes(int64_t l_max);

/* loops_end() writes the log's record `data_check`. Both are collective. */
struct loops loops_begin(const struct run *run, const struct memories *memories, int64_t l_max);
void loops_end(struct loops *loops);

/* Times a loop of `loop_length` exchanges of messages of `bytes`, after one untimed exchange, and checks the received
 * data; a wrong byte ends the run. Collective over `exchange->all`. */
struct result time_loop(struct loops *loops, struct exchange *exchange, const struct method *method, int64_t bytes,
                        int64_t loop_length);
