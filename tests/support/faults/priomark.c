/* SPDX-License-Identifier: Apache-2.0 */
/* Between priomark and the C library (loaded with LD_PRELOAD): the faults of positioned_io.h, a bit of the first byte
 * turned, or written one sector further on; and
 *
 * FAULT_LATE   the so-manieth reading of the clock after an fsync, and all later ones, are a second late: what a
 * process sees that lost its core just before */
#define _GNU_SOURCE
#include <time.h>

#define UNDER_TEST "/priomark-"
#define MISPLACED_BYTES 512
#define FLIPPED_BYTE 0
#define FLIPPED_BITS 1
#define STRIKES_HERE 1
#include "positioned_io.h"

static long readings = -1; /* of the clock since the fsync; none before it */

int fsync(int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    const int result = next(file);
    readings = 0;
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*next)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = next(clock, now);
    if (clock == CLOCK_MONOTONIC && readings >= 0 && getenv("FAULT_LATE") && ++readings >= number("FAULT_LATE"))
        now->tv_sec++;
    return result;
}
