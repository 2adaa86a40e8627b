/* SPDX-License-Identifier: Apache-2.0 */
/* See buffers.h. */
#include "buffers.h"

#include <stdio.h>

#include "agreement.h"
#include "data.h"
#include "fail.h"
#include "memory.h"

enum { TEXT_LENGTH = 256 };

static void allocate_host(struct buffers *buffers, int rank)
{
    buffers->in[MEMORY_HOST].send = buffer_allocate(buffers->send_bytes);
    buffers->in[MEMORY_HOST].receive = buffer_allocate(buffers->bytes);
    if (buffers_hold_data)
        data_fill(buffers->in[MEMORY_HOST].send, buffers->send_bytes, (uint32_t)rank, 0);
}

/* Through the staging buffer, whose content the receive buffer gets first. */
static const char *fill_device(struct buffers *buffers, int kind, int rank)
{
    const char *problem = memory_copy(kind, buffers->in[kind].receive, buffers->staging, buffers->bytes);
    for (size_t done = 0, bytes; !problem && done < buffers->send_bytes; done += bytes) {
        bytes = buffers->send_bytes - done < buffers->bytes ? buffers->send_bytes - done : buffers->bytes;
        problem = memory_synchronize(kind); /* an earlier copy may still read the staging buffer */
        data_fill(buffers->staging, bytes, (uint32_t)rank, done);
        if (!problem)
            problem = memory_copy(kind, buffers->in[kind].send + done, buffers->staging, bytes);
    }
    return problem ? problem : memory_synchronize(kind);
}

static void allocate_device(struct buffers *buffers, int kind, int rank)
{
    char text[TEXT_LENGTH] = "";
    if (!buffers->staging)
        buffers->staging = buffer_allocate(buffers->bytes);
    const char *problem = memory_allocate(kind, buffers->send_bytes, &buffers->in[kind].send);
    if (!problem)
        problem = memory_allocate(kind, buffers->bytes, &buffers->in[kind].receive);
    if (!problem)
        problem = fill_device(buffers, kind, rank);
    if (problem)
        snprintf(text, sizeof text, "%s", problem);
    const int first = agree_on_reason(MPI_COMM_WORLD, text, sizeof text);
    if (first != NO_RANK)
        fail_together_for(first,
                          "cannot allocate and fill two buffers of %zu bytes in %s memory: %s; use fewer processes for "
                          "each device or a smaller --memory-per-process",
                          buffers->bytes, memory_kinds[kind].name, text);
}

struct buffers buffers_open(const struct run *run, const struct memories *memories, size_t bytes, size_t send_bytes)
{
    struct buffers buffers = {.bytes = bytes, .send_bytes = send_bytes};
    if (memories_have_host(memories))
        allocate_host(&buffers, run->rank);
    for (int kind = MEMORY_HOST + 1; kind < MEMORY_KINDS; kind++)
        if (memories->chosen >> kind & 1)
            allocate_device(&buffers, kind, run->rank);
    return buffers;
}

void buffers_close(struct buffers *buffers)
{
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        if (buffers->in[kind].send) {
            memory_free(kind, buffers->in[kind].send, buffers->send_bytes);
            memory_free(kind, buffers->in[kind].receive, buffers->bytes);
        }
    buffer_free(buffers->staging, buffers->bytes);
}

const char *buffers_received(const struct buffers *buffers, int kind, const char *data, size_t bytes)
{
    if (kind == MEMORY_HOST)
        return data;
    const char *problem = memory_copy(kind, buffers->staging, data, bytes);
    if (problem)
        fail("cannot copy received data from %s memory: %s", memory_kinds[kind].name, problem);
    return buffers->staging;
}
