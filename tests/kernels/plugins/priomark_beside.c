/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-benchmark from outside, built from the installed header alone: its input and output is a sleep, which shares
 * nothing with a calculation; but a part of it can be made to block the process, so that both contend for its time. */
#include <priomark.h>

static const struct priomark_key keys[] = {
    {"milliseconds", PRIOMARK_COUNTS, "40", "how long a transfer takes", 1, 10000, 0},
    {"blocked_percent", PRIOMARK_COUNTS, "0", "how much of it blocks the process that starts it", 0, 100, 0},
    {0}};

struct transfer {
    double seconds, blocked, end;
};

static void sleep_until(double end)
{
    for (double left; (left = end - priomark_now()) > 0;) {
        const struct timespec pause = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        nanosleep(&pause, 0);
    }
}

static void start(void *context)
{
    struct transfer *transfer = context;
    const double now = priomark_now();
    transfer->end = now + transfer->seconds;
    sleep_until(now + transfer->blocked);
}

static bool done(void *context)
{
    return priomark_now() >= ((struct transfer *)context)->end;
}

static void finish(void *context)
{
    sleep_until(((struct transfer *)context)->end);
}

static void plan(struct priomark *run)
{
    for (int i = 0; i < priomark_count(run, "blocked_percent"); i++)
        priomark_add(run, &(struct priomark_case){.pattern = "sleep",
                                                  .method = "nanosleep",
                                                  .process_bytes = 1 << 20,
                                                  .block_bytes = 1 << 20,
                                                  .read_share = -1,
                                                  .number = priomark_number(run, "blocked_percent", i)});
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct transfer sleeping = {.seconds = 1e-3 * (double)priomark_number(run, "milliseconds", 0)};
    sleeping.blocked = sleeping.seconds * (double)now->number / 100;
    const struct priomark_transfer transfer = {PRIOMARK_READ, now->process_bytes, start, done, finish, &sleeping};
    priomark_overlap(run, &transfer, 0);
    priomark_value(run, "blocked_percent", (double)now->number);
}

const struct priomark_plugin priomark_plugin = {
    PRIOMARK_INTERFACE, "beside", "a sleep beside a calculation", keys, plan, measure};
