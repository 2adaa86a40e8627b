/* SPDX-License-Identifier: Apache-2.0 */
/* See lengths.h. */
#include "lengths.h"

#include <math.h>

#include "units.h"

int64_t longest_message(int64_t memory_per_process_bytes)
{
    const int64_t most = 128 * MIB, share = memory_per_process_bytes / 128;
    return share < most ? share : most;
}

void message_lengths(int64_t l_max, int64_t lengths[LENGTHS])
{
    const int variable = LENGTHS - FIXED_LENGTHS;
    for (int i = 0; i < FIXED_LENGTHS; i++)
        lengths[i] = INT64_C(1) << i;
    const double longest_fixed = (double)lengths[FIXED_LENGTHS - 1];
    for (int k = 1; k < variable; k++)
        lengths[FIXED_LENGTHS - 1 + k] =
            llround(longest_fixed * pow((double)l_max / longest_fixed, (double)k / variable));
    lengths[LENGTHS - 1] = l_max;
}
