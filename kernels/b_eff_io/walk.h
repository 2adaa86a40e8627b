/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that accesses come from and go to, and what is in it. Call after call walks through a buffer, so that it
 * is not a cache that is measured; what a process writes in one pattern repeats after a period that no power of two, no
 * stripe and no 32-bit overflow is a multiple of, so that data at the wrong place shows. */
#ifndef B_EFF_IO_WALK_H
#define B_EFF_IO_WALK_H

#include <stddef.h>
#include <stdint.h>

enum { PERIOD_BYTES = 4099 * 4096 }; /* a prime number of pages: places keep their alignment in memory */

struct walk {
    char *buffer;
    size_t bytes;
};

/* Room for calls of up to `largest_call_bytes`. */
struct walk walk_allocate(int64_t largest_call_bytes);
void walk_free(struct walk *walk);

/* Where the data of a call begins in the buffer. */
static inline int64_t walk_place(int64_t call, int64_t call_bytes)
{
    return (call % PERIOD_BYTES) * (call_bytes % PERIOD_BYTES) % PERIOD_BYTES; /* of factors below 2^25 */
}

/* Calls whose data is in the buffer at the same time; at least one. */
int64_t walk_calls(int64_t call_bytes);

/* Fills the buffer with what `source` writes in at most `calls` calls. */
void walk_fill(struct walk *walk, int64_t calls, int64_t call_bytes, uint32_t source);

/* Wipes what at most `calls` calls will read into, so that a read that brings nothing shows. */
void walk_wipe(struct walk *walk, int64_t calls, int64_t call_bytes);

/* How many bytes of the call's data are not what `source` wrote; `first_wrong` becomes the place of the first in the
 * call. */
size_t walk_count_wrong(const struct walk *walk, int64_t call, int64_t call_bytes, uint32_t source,
                        int64_t *first_wrong);

#endif
