/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 keeps for the table at the terminal. */
#pragma once

#include "methods.h"

struct summary {
    double bytes[MOST_PARTITIONS][METHODS][TYPES], seconds[MOST_PARTITIONS][METHODS][TYPES];
    int overruns; /* measurements that left out calls so that the run ends in time */
};
