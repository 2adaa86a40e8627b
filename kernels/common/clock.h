/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of logs and of everything else without MPI. */
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Seconds of a monotonic clock. Safe in a signal handler. */
static inline double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds since 1970, by the operating system itself: a library that changes the functions of the C library does not
 * change it. */
static inline double day_seconds(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Sleeps, or less if a signal arrives. Safe in a signal handler. */
static inline void pause_ms(long milliseconds)
{
    const struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

enum { UTC_BYTES = 32 };

/* The time of day for the log, as in 2026-11-20T14:00:00Z. */
static inline void utc_now(char text[UTC_BYTES])
{
    const time_t now = (time_t)day_seconds();
    struct tm utc;
    strftime(text, UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}
