/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of logs and of everything else without MPI. */
#ifndef COFFEECUP_CLOCK_H
#define COFFEECUP_CLOCK_H

#include <time.h>

/* Seconds of a monotonic clock. Safe in a signal handler. */
static inline double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
