/* SPDX-License-Identifier: Apache-2.0 */
/* See order.h. The table of patterns is at the end. */
#include "order.h"

#include <math.h>
#include <string.h>

#include "random.h"

/* Streams of a case's random numbers: one common stream, then one per rank. */
enum { STREAM_OPERATIONS, STREAM_OF_RANK_0 };

/* Reads are drawn from the remaining requests, so that their number is exact. The upper half of the product decides,
 * without the bias of a remainder. */
static bool draws_read(uint64_t random, int64_t reads_left, int64_t left)
{
    return (int64_t)((unsigned __int128)random * (uint64_t)left >> 64) < reads_left;
}

struct order order_start(const struct priomark *run, const struct priomark_case *now)
{
    const struct pattern *pattern = find_pattern(now->pattern);
    const int64_t blocks = now->process_bytes / now->block_bytes;
    const double share = pattern->mixed ? now->read_share : pattern->share_read;
    return (struct order){.pattern = pattern,
                          .blocks = blocks,
                          .reads_left = llround((double)blocks * share),
                          .operations_seed = priomark_seed(run, STREAM_OPERATIONS),
                          .blocks_seed = priomark_seed(run, STREAM_OF_RANK_0 + (uint64_t)priomark_rank(run))};
}

bool order_next(struct order *order, int64_t *block, enum priomark_operation *operation)
{
    const int64_t i = order->next, left = order->blocks - i;
    if (left == 0)
        return false;
    *operation = draws_read(random_number(order->operations_seed, (uint64_t)i), order->reads_left, left)
                     ? PRIOMARK_READ
                     : PRIOMARK_WRITE;
    order->reads_left -= *operation == PRIOMARK_READ;
    *block = order->pattern->block(i, order->blocks, order->blocks_seed);
    order->next++;
    return true;
}

/* --- the patterns ------------------------------------------------------------------------------------------------- */

static int64_t forwards(int64_t i, int64_t blocks, uint64_t seed)
{
    (void)blocks, (void)seed;
    return i;
}

static int64_t backwards(int64_t i, int64_t blocks, uint64_t seed)
{
    (void)seed;
    return blocks - 1 - i;
}

const struct pattern patterns[] = {/* name, creates, mixed, share_read */
                                   {"write", true, false, 0, forwards},
                                   {"read-write", false, true, 0, forwards},
                                   {"random-read-write", false, true, 0, random_place},
                                   {"backwards-read", false, false, 1, backwards},
                                   {0}};

const char *const pattern_names[] = {"write", "read-write", "random-read-write", "backwards-read", NULL};

const struct pattern *find_pattern(const char *name)
{
    for (const struct pattern *pattern = patterns; pattern->name; pattern++)
        if (strcmp(pattern->name, name) == 0)
            return pattern;
    return NULL;
}
