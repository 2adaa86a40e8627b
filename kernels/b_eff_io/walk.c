/* SPDX-License-Identifier: Apache-2.0 */
/* See walk.h. */
#include "walk.h"

#include <string.h>

#include "data.h"
#include "memory.h"
#include "units.h"

struct walk walk_allocate(int64_t largest_call_bytes)
{
    struct walk walk = {.bytes = (size_t)(PERIOD_BYTES + largest_call_bytes)};
    walk.buffer = buffer_allocate(walk.bytes);
    return walk;
}

void walk_free(struct walk *walk)
{
    buffer_free(walk->buffer, walk->bytes);
}

int64_t walk_calls(int64_t call_bytes)
{
    return call_bytes < PERIOD_BYTES ? PERIOD_BYTES / call_bytes : 1;
}

static int64_t used_bytes(int64_t calls, int64_t call_bytes)
{
    return calls > walk_calls(call_bytes) ? PERIOD_BYTES + call_bytes : calls * call_bytes;
}

void walk_fill(struct walk *walk, int64_t calls, int64_t call_bytes, uint32_t source)
{
    const int64_t bytes = used_bytes(calls, call_bytes);
    data_fill(walk->buffer, (size_t)lesser(bytes, PERIOD_BYTES), source, 0);
    for (int64_t done = PERIOD_BYTES; done < bytes; done += PERIOD_BYTES)
        memcpy(walk->buffer + done, walk->buffer, (size_t)lesser(bytes - done, PERIOD_BYTES));
}

void walk_wipe(struct walk *walk, int64_t calls, int64_t call_bytes)
{
    memset(walk->buffer, 0, (size_t)used_bytes(calls, call_bytes));
}

size_t walk_count_wrong(const struct walk *walk, int64_t call, int64_t call_bytes, uint32_t source,
                        int64_t *first_wrong)
{
    const int64_t start = walk_place(call, call_bytes);
    size_t wrong = 0;
    for (int64_t done = 0; done < call_bytes;) {
        const int64_t position = (start + done) % PERIOD_BYTES;
        const int64_t piece = lesser(call_bytes - done, PERIOD_BYTES - position);
        size_t first;
        const size_t differing =
            data_count_wrong(walk->buffer + start + done, (size_t)piece, source, (uint64_t)position, &first);
        if (differing && !wrong)
            *first_wrong = done + (int64_t)first;
        wrong += differing;
        done += piece;
    }
    return wrong;
}
