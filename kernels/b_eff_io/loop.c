/* SPDX-License-Identifier: Apache-2.0 */
/* See loop.h. */
#include "loop.h"
#include "units.h"

#include <math.h>

const char *const ending_names[ENDINGS] = {"count", "time", "space", "overrun"};

/* At least 1, and safe for quotients beyond the range of integers. */
static int64_t whole_calls(double calls)
{
    return calls < 1 ? 1 : calls > 1e15 ? INT64_C(1000000000000000) : (int64_t)calls;
}

static int64_t calls_left(const struct limits *limits, const struct course *course, enum ending *ending)
{
    *ending = limits->calls <= limits->calls_of_space ? ENDED_BY_COUNT : ENDED_BY_SPACE;
    return lesser(limits->calls, limits->calls_of_space) - course->calls;
}

static double seconds_left(const struct limits *limits, const struct course *course)
{
    return limits->seconds - course->elapsed_seconds - limits->sync_seconds_per_call * (double)course->calls;
}

/* Less than 0.5 if one more call would miss the scheduled time by more than it is missed now. */
static double calls_that_fit(const struct limits *limits, const struct course *course, double pace)
{
    return seconds_left(limits, course) / (pace + limits->sync_seconds_per_call);
}

int64_t next_batch(const struct limits *limits, const struct course *course, enum ending *ending)
{
    int64_t batch = calls_left(limits, course, ending);
    if (batch <= 0)
        return 0;
    if (course->calls == 0)
        return 1;
    const double pace = fmax(course->last_batch_seconds / (double)course->last_batch, 1e-9);
    const double fitting = calls_that_fit(limits, course, pace);
    if (fitting < 0.5) {
        *ending = ENDED_BY_TIME;
        return 0;
    }
    const double slice = fmax(limits->slice_seconds, limits->slice_of_left * seconds_left(limits, course));
    batch = lesser(batch, limits->batch_calls);
    batch = lesser(batch, 2 * course->last_batch);
    batch = lesser(batch, whole_calls(slice / pace));
    return lesser(batch, whole_calls(fitting));
}

int64_t next_round(const struct limits *limits, const struct course *course, enum ending *ending)
{
    const int64_t left = calls_left(limits, course, ending);
    if (left <= 0)
        return 0;
    if (limits->seconds <= 0)
        return lesser(left, limits->round_calls);
    if (course->calls > 0 && calls_that_fit(limits, course, course->elapsed_seconds / (double)course->calls) < 0.5) {
        *ending = ENDED_BY_TIME;
        return 0;
    }
    return 1;
}
