/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of each kind of memory. */
#pragma once

#include <stddef.h>

#include "memories.h"
#include "memory_kinds.h"
#include "run.h"

struct buffers {
    size_t bytes, send_bytes; /* of the buffers in each kind */
    struct {
        char *send, *receive;
    } in[MEMORY_KINDS]; /* NULL in kinds that the run does not use */
    char *staging;      /* of the host, `bytes` long: for data of devices; NULL if there are none */
};

/* Fills the send buffers with data of this rank. Collective, as a kind may fail on any process. */
struct buffers buffers_open(const struct run *run, const struct memories *memories, size_t bytes, size_t send_bytes);
void buffers_close(struct buffers *buffers);

/* Received data in memory of the host, by a copy if necessary. Without memory_synchronize(): MPI guarantees that a
 * message which has been received is in the buffer, and this is what is checked. */
const char *buffers_received(const struct buffers *buffers, int kind, const char *data, size_t bytes);
