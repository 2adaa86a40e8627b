/* SPDX-License-Identifier: Apache-2.0 */
/* See counters.h. The events of floating-point operations differ between processors, and there is no portable
 * interface. The tables below follow the vendors' manuals, and each counter must first count a loop of known length
 * correctly.
 *
 * The system reads and sets a counter whenever a process waits. In some virtual machines each of that is a call of the
 * hypervisor: a counter can make a wait longer by half a millisecond, more than the I/O that FTIO measures. */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "agreement.h"
#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "record.h"

enum { MOST_EVENTS = 4, REASON_LENGTH = 160, KNOWN_ADDITIONS = 1000000, WAITS = 20 };

/* A processor of its own takes 1 to 3 us for the counters, a fast device 50 us and more for a request. */
static const double most_seconds_per_wait = 10e-6;

struct event {
    uint32_t type;
    uint64_t code;
    int operations; /* per event */
};

struct set {
    int events;
    struct event event[MOST_EVENTS];
    int file[MOST_EVENTS];
    int64_t counted; /* of this process, from start to stop */
    bool usable;     /* on every process */
    char reason[REASON_LENGTH];
};

struct counters {
    struct set set[COUNTERS];
    uint64_t ticks_at_start, ticks;
};

static const struct set cycle_events = {.events = 1, .event = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1}}};

/* FP_ARITH_INST_RETIRED, event 0xc7: double precision, scalar and of 128, 256 and 512 bit; a fused one counts twice */
static const struct set intel_flops = {.events = 4,
                                       .event = {{PERF_TYPE_RAW, 0x01c7, 1},
                                                 {PERF_TYPE_RAW, 0x04c7, 2},
                                                 {PERF_TYPE_RAW, 0x10c7, 4},
                                                 {PERF_TYPE_RAW, 0x40c7, 8}}};

/* Retired SSE and AVX operations, event 0x03 of Zen: add, multiply, divide, fused */
static const struct set amd_flops = {.events = 1, .event = {{PERF_TYPE_RAW, 0x0f03, 1}}};

static struct set flop_events(void)
{
#if defined(__x86_64__)
    unsigned highest, vendor[3];
    __get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]);
    if (memcmp(vendor, "GenuineIntel", sizeof vendor) == 0)
        return intel_flops;
    if (memcmp(vendor, "AuthenticAMD", sizeof vendor) == 0)
        return amd_flops;
#endif
    return (struct set){.reason = "no event for floating-point operations is known on this processor"};
}

/* The time stamp counter runs at a fixed rate, also while the core waits. */
static uint64_t time_stamp(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

static int open_event(const struct event *event)
{
    struct perf_event_attr attributes = {.type = event->type,
                                         .size = sizeof attributes,
                                         .config = event->code,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .read_format =
                                             PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_set(struct set *set)
{
    for (int e = 0; e < set->events; e++)
        if (set->file[e] >= 0)
            close(set->file[e]);
    set->events = 0;
}

static void open_set(struct set *set)
{
    for (int e = 0; e < set->events; e++)
        set->file[e] = -1;
    for (int e = 0; e < set->events && !set->reason[0]; e++) {
        set->file[e] = open_event(&set->event[e]);
        if (set->file[e] < 0)
            snprintf(set->reason, sizeof set->reason, "perf_event_open: %s%s", strerror(errno),
                     errno == EACCES || errno == EPERM ? " (see /proc/sys/kernel/perf_event_paranoid)" : "");
    }
}

static void start_set(const struct set *set)
{
    for (int e = 0; e < set->events; e++) {
        ioctl(set->file[e], PERF_EVENT_IOC_RESET, 0);
        ioctl(set->file[e], PERF_EVENT_IOC_ENABLE, 0);
    }
}

/* If the processor has fewer counters than requested, the system multiplexes them: scale to the whole time. */
static void stop_set(struct set *set)
{
    set->counted = 0;
    for (int e = 0; e < set->events; e++) {
        uint64_t value[3] = {0}; /* count, time enabled, time running */
        ioctl(set->file[e], PERF_EVENT_IOC_DISABLE, 0);
        if (read(set->file[e], value, sizeof value) != (ssize_t)sizeof value || value[2] == 0)
            continue;
        const double scale = (double)value[1] / (double)value[2];
        set->counted += (int64_t)((double)value[0] * scale) * set->event[e].operations;
    }
}

static void add_known_number_of_times(void)
{
    volatile double sum = 0; /* volatile: additions are not combined */
    for (int i = 0; i < KNOWN_ADDITIONS; i++)
        sum = sum + 1.0;
}

static void check_plausibility(struct set *set, int64_t least, int64_t most)
{
    if (set->reason[0])
        return;
    start_set(set);
    add_known_number_of_times();
    stop_set(set);
    if (set->counted < least || set->counted > most)
        snprintf(set->reason, sizeof set->reason, "the counter reports %lld for a loop with %lld to %lld",
                 (long long)set->counted, (long long)least, (long long)most);
}

/* What others do lengthens some of the waits, the counter each of them. */
static double shortest_wait(void)
{
    double shortest = 1;
    for (int w = 0; w < WAITS; w++) {
        const double start = now_seconds();
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
        const double seconds = now_seconds() - start;
        shortest = seconds < shortest ? seconds : shortest;
    }
    return shortest;
}

static void check_cost(struct set *set)
{
    if (set->reason[0])
        return;
    const double without = shortest_wait();
    start_set(set);
    const double cost = shortest_wait() - without;
    stop_set(set);
    if (cost > most_seconds_per_wait)
        snprintf(set->reason, sizeof set->reason,
                 "the counter makes each wait of a process %.0f us longer, at most %.0f are permitted", 1e6 * cost,
                 1e6 * most_seconds_per_wait);
}

/* The sum requires the counter on every process; the reason is that of the lowest rank without it. */
static void agree_on_set(struct set *set)
{
    set->usable = agree_on_reason(MPI_COMM_WORLD, set->reason, sizeof set->reason) == NO_RANK;
    if (!set->usable)
        close_set(set);
}

struct counters *counters_open(void)
{
    struct counters *counters = allocate(1, sizeof *counters);
    counters->set[COUNTER_CYCLES] = cycle_events;
    counters->set[COUNTER_FLOPS] = flop_events();
    for (int c = 0; c < COUNTERS; c++)
        open_set(&counters->set[c]);
    check_plausibility(&counters->set[COUNTER_CYCLES], KNOWN_ADDITIONS / 8, INT64_C(100) * KNOWN_ADDITIONS);
    check_plausibility(&counters->set[COUNTER_FLOPS], KNOWN_ADDITIONS - KNOWN_ADDITIONS / 50,
                       KNOWN_ADDITIONS + KNOWN_ADDITIONS / 50);
    for (int c = 0; c < COUNTERS; c++) {
        check_cost(&counters->set[c]);
        agree_on_set(&counters->set[c]);
    }
    return counters;
}

void counters_close(struct counters *counters)
{
    for (int c = 0; c < COUNTERS; c++)
        close_set(&counters->set[c]);
    free(counters);
}

void counters_start(struct counters *counters)
{
    for (int c = 0; c < COUNTERS; c++)
        start_set(&counters->set[c]);
    counters->ticks_at_start = time_stamp();
}

void counters_stop(struct counters *counters)
{
    counters->ticks = time_stamp() - counters->ticks_at_start;
    for (int c = 0; c < COUNTERS; c++)
        stop_set(&counters->set[c]);
}

json_t *counters_json(struct counters *counters)
{
    const struct set *cycles = &counters->set[COUNTER_CYCLES], *flops = &counters->set[COUNTER_FLOPS];
    int64_t mine[3] = {cycles->counted, flops->counted, (int64_t)counters->ticks}, all[3];
    MPI_CHECK(MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    return OBJECT(field_int_or_null("cycles", cycles->usable, all[0]),
                  field_text("cycles_reason", cycles->usable ? NULL : cycles->reason),
                  field_int_or_null("flops", flops->usable, all[1]),
                  field_text("flops_reason", flops->usable ? NULL : flops->reason),
                  field_int_or_null("time_stamp_cycles", all[2] > 0, all[2]));
}
