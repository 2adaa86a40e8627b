/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of b_eff_io that require no file: counts and segments, random order, and the batches of the time-driven
 * loop on file systems given by formulas. tests/kernels/test_facts.py has its table of patterns and default partitions.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "loop.h"
#include "patterns.h"
#include "random.h"
#include "units.h"

static void counts_are_the_smallest_that_the_first_types_reached(void)
{
    struct pattern list[PATTERNS];
    int64_t counts[PATTERNS] = {0}, used;
    list_patterns(8 * MIB, list);
    counts[5] = 3;    /* 3 calls of 1024 chunks of 1 kB */
    counts[13] = 200; /* counts tenfold */
    counts[21] = 5000;
    CHECK(size_driven_count(list, 29, counts) == 2000, "%" PRId64, size_driven_count(list, 29, counts));
    counts[13] = 1000;
    CHECK(size_driven_count(list, 29, counts) == 3072, "%" PRId64, size_driven_count(list, 29, counts));
    counts[2] = 1; /* 2 chunks of 1 MB: release 2.1 leaves them out */
    counts[3] = 70;
    counts[11] = 6;
    counts[19] = 50;
    CHECK(size_driven_count(list, 27, counts) == 50, "%" PRId64, size_driven_count(list, 27, counts));
    counts[11] = 4;
    CHECK(size_driven_count(list, 36, counts) == 40, "%" PRId64, size_driven_count(list, 36, counts));
    CHECK(size_driven_count(list, 25, counts) == 1, "the first pattern");
    CHECK(size_driven_count(list, 33, counts) == 0, "the pattern that fills up");
    memset(counts, 0, sizeof counts);
    counts[25] = 1;
    counts[26] = 300;
    counts[30] = 1;
    CHECK(segment_bytes(list, TYPE_SEGMENTED, counts, MIB, &used) == 2402 * MIB && used == 2401 * MIB + 32776,
          "a segment beyond 2 GiB: %" PRId64, used);
}

static void random_order_is_a_permutation(void)
{
    static const int64_t counts[] = {1, 2, 3, 4, 5, 17, 1000, 4096, 65537};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            char *seen = calloc((size_t)counts[i], 1);
            int64_t in_place = 0;
            for (int64_t k = 0; k < counts[i]; k++) {
                const int64_t place = random_place(k, counts[i], seed);
                CHECK(place >= 0 && place < counts[i] && !seen[place], "count %" PRId64 ", %" PRId64 ": %" PRId64,
                      counts[i], k, place);
                if (place >= 0 && place < counts[i])
                    seen[place] = 1;
                in_place += place == k;
            }
            CHECK(counts[i] < 1000 || in_place < 20, "count %" PRId64 ": %" PRId64 " stay in place", counts[i],
                  in_place);
            free(seen);
        }
}

/* Runs the loop on a file system with these times per call and of the sync per call; returns the number of agreements.
 */
static int run_loop(struct limits limits, double call_seconds, double agreement_seconds, struct course *course,
                    enum ending *ending)
{
    int agreements = 0;
    *course = (struct course){0};
    for (;;) {
        const int64_t batch = next_batch(&limits, course, ending);
        course->elapsed_seconds += agreement_seconds;
        agreements++;
        if (batch == 0)
            return agreements;
        course->calls += batch;
        course->last_batch = batch;
        course->last_batch_seconds = (double)batch * call_seconds + agreement_seconds;
        course->elapsed_seconds += (double)batch * call_seconds;
    }
}

static struct limits timed(double seconds)
{
    return (struct limits){.calls = INT64_MAX,
                           .calls_of_space = INT64_MAX,
                           .seconds = seconds,
                           .slice_seconds = 0.05 * seconds,
                           .batch_calls = INT64_MAX};
}

static void scheduled_time_is_kept_and_agreements_are_few(void)
{
    static const double calls[] = {1e-7, 1e-6, 3e-5, 1e-3, 0.02};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct course course;
        enum ending ending;
        const int agreements = run_loop(timed(4.7), calls[i], 1e-6, &course, &ending);
        CHECK(ending == ENDED_BY_TIME, "ended by %d", ending);
        CHECK(course.elapsed_seconds > 0.99 * 4.7 && course.elapsed_seconds < 1.01 * 4.7, "call of %g s: %g s",
              calls[i], course.elapsed_seconds);
        CHECK(agreements < 80, "call of %g s: %d agreements", calls[i], agreements);
    }
}

static void expected_sync_is_inside_the_scheduled_time(void)
{
    struct limits limits = timed(4);
    struct course course;
    enum ending ending;
    limits.sync_seconds_per_call = 3e-3;
    run_loop(limits, 1e-3, 0, &course, &ending);
    CHECK(course.calls >= 990 && course.calls <= 1010, "%" PRId64 " calls of 1 ms and a sync of 3 ms each in 4 s",
          course.calls);
}

static void a_call_longer_than_the_time_is_made_once(void)
{
    struct course course;
    enum ending ending;
    run_loop(timed(0.1), 5, 1e-6, &course, &ending);
    CHECK(course.calls == 1 && ending == ENDED_BY_TIME, "%" PRId64 " calls", course.calls);
}

/* The same for a process that decides alone; returns how often it reads its clock. */
static int run_alone(struct limits limits, double call_seconds, struct course *course, enum ending *ending)
{
    int looks = 0;
    int64_t calls;
    *course = (struct course){0};
    while ((calls = next_round(&limits, course, ending)) > 0) {
        course->calls += calls;
        course->elapsed_seconds += (double)calls * call_seconds;
        looks++;
    }
    return looks;
}

static void a_process_alone_stops_by_its_own_clock(void)
{
    struct course course;
    enum ending ending;
    run_alone(timed(1), 0.03, &course, &ending);
    CHECK(course.calls == 33 && ending == ENDED_BY_TIME, "%" PRId64 " calls of 0.03 s", course.calls);
    run_alone(timed(1), 5, &course, &ending);
    CHECK(course.calls == 1 && ending == ENDED_BY_TIME, "%" PRId64 " calls of 5 s", course.calls);
    struct limits limits = timed(4);
    limits.sync_seconds_per_call = 3e-3;
    run_alone(limits, 1e-3, &course, &ending);
    CHECK(course.calls == 1000, "%" PRId64 " calls of 1 ms and a sync of 3 ms each in 4 s", course.calls);
}

static void counts_and_space_end_a_pattern(void)
{
    struct limits limits = timed(100);
    struct course course;
    enum ending ending;
    limits.calls = 1000;
    run_loop(limits, 1e-6, 1e-6, &course, &ending);
    CHECK(course.calls == 1000 && ending == ENDED_BY_COUNT, "%" PRId64 " calls", course.calls);
    limits.batch_calls = 1;
    CHECK(run_loop(limits, 1e-6, 1e-6, &course, &ending) == 1001, "an agreement after each access");
    CHECK(run_alone(limits, 1e-6, &course, &ending) == 1000 && ending == ENDED_BY_COUNT,
          "a look at the clock after each access");
    limits.calls_of_space = 77;
    run_loop(limits, 1e-6, 1e-6, &course, &ending);
    CHECK(course.calls == 77 && ending == ENDED_BY_SPACE, "%" PRId64 " calls", course.calls);
    limits.seconds = 0;
    limits.round_calls = 10;
    CHECK(run_alone(limits, 1, &course, &ending) == 8 && course.calls == 77 && ending == ENDED_BY_SPACE,
          "no look at the clock");
}

/* A read that is faster than the write ends by its count, after few agreements. */
static void known_counts_take_few_agreements(void)
{
    struct limits limits = timed(4.7);
    struct course course;
    enum ending ending;
    limits.calls = 1000000;
    limits.slice_of_left = 0.5;
    const int agreements = run_loop(limits, 3e-6, 1e-6, &course, &ending);
    CHECK(course.calls == 1000000 && ending == ENDED_BY_COUNT && agreements <= 22, "%d agreements", agreements);
    run_loop(limits, 3e-5, 1e-6, &course, &ending);
    CHECK(ending == ENDED_BY_TIME && course.elapsed_seconds < 1.01 * 4.7, "%g s", course.elapsed_seconds);
}

int main(void)
{
    counts_are_the_smallest_that_the_first_types_reached();
    random_order_is_a_permutation();
    scheduled_time_is_kept_and_agreements_are_few();
    expected_sync_is_inside_the_scheduled_time();
    a_call_longer_than_the_time_is_made_once();
    a_process_alone_stops_by_its_own_clock();
    counts_and_space_end_a_pattern();
    known_counts_take_few_agreements();
    return checks_status();
}
