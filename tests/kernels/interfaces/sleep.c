/* SPDX-License-Identifier: Apache-2.0 */
/* The skeleton with another table: its transfers sleep after they have moved the data, which shares nothing with a
 * calculation; but PERCENT of that time can block the process, so that both contend for it. */
#define priomark_interface skeleton_interface
#include "skeleton.c"
#undef priomark_interface
#include <stdio.h>
#include <time.h>

#define TEXT_OF(number) #number
#define NAME(number) "sleep" TEXT_OF(number)
static const double seconds = 0.04;
static double end;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void sleep_until(double when)
{
    for (double left; (left = when - now()) > 0;)
        nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
}

static void start(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                  int64_t offset)
{
    const double begun = now();
    if (operation == PRIOMARK_READ)
        read_block(file, data, bytes, offset);
    else
        write_block(file, data, bytes, offset);
    end = begun + seconds;
    sleep_until(begun + seconds * PERCENT / 100);
}

static bool done(struct priomark_file *file)
{
    (void)file;
    return now() >= end;
}

static void finish(struct priomark_file *file)
{
    (void)file;
    sleep_until(end);
}

static const char *properties(void)
{
    return "each transfer takes 40 ms";
}

extern const struct skeleton_interface priomark_interface;
const struct skeleton_interface priomark_interface = {.version = PRIOMARK_INTERFACE,
                                                      .name = NAME(PERCENT),
                                                      .summary = "a sleep beside a calculation",
                                                      .figure = PRIOMARK_LATENCY,
                                                      .plain = true,
                                                      .open = open_file,
                                                      .read = read_block,
                                                      .write = write_block,
                                                      .sync = sync_file,
                                                      .close = close_file,
                                                      .start = start,
                                                      .done = done,
                                                      .finish = finish,
                                                      .properties = properties};
