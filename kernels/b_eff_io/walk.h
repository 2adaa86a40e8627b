/* SPDX-License-Identifier: Apache-2.0 */
/* The memory buffer of accesses, and its content. Calls walk through the buffer, so that data does not come from a
 * processor cache. The data of a pattern repeats after a period of which no power of two, no stripe and no 32-bit
 * overflow is a multiple, so that data at the wrong place is detected. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PERIOD_BYTES = 4099 * 4096 }; /* a prime number of pages: calls keep their alignment in memory */

struct walk {
    char *buffer;
    size_t bytes;
};

/* Room for calls of up to `largest_call_bytes`. */
struct walk walk_allocate(int64_t largest_call_bytes);
void walk_free(struct walk *walk);

/* Offset of a call's data in the buffer. */
static inline int64_t walk_place(int64_t call, int64_t call_bytes)
{
    return (call % PERIOD_BYTES) * (call_bytes % PERIOD_BYTES) % PERIOD_BYTES; /* of factors below 2^25 */
}

/* Calls whose data is in the buffer at the same time; at least one. */
int64_t walk_calls(int64_t call_bytes);

/* Fills the buffer with what `source` writes in at most `calls` calls. */
void walk_fill(struct walk *walk, int64_t calls, int64_t call_bytes, uint32_t source);

/* Clears the part of the buffer that at most `calls` calls will read into, so that missing data is detected. */
void walk_wipe(struct walk *walk, int64_t calls, int64_t call_bytes);

/* Number of bytes of the call's data that differ from what `source` wrote; `first_wrong` becomes the offset of the
 * first one in the call. */
size_t walk_count_wrong(const struct walk *walk, int64_t call, int64_t call_bytes, uint32_t source,
                        int64_t *first_wrong);
