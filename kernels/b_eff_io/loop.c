/* See loop.h. */
#include "loop.h"

#include <math.h>

const char *const ending_names[ENDINGS] = {"time", "count", "space"};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* At least 1, and safe for quotients that no integer holds. */
static int64_t whole_calls(double calls)
{
    return calls < 1 ? 1 : calls > 1e15 ? INT64_C(1000000000000000) : (int64_t)calls;
}

int64_t next_batch(const struct limits *limits, const struct course *course, enum ending *ending)
{
    *ending = limits->calls <= limits->calls_of_space ? ENDED_BY_COUNT : ENDED_BY_SPACE;
    int64_t batch = least(limits->calls, limits->calls_of_space) - course->calls;
    if (batch <= 0)
        return 0;
    batch = least(batch, limits->batch_calls);
    if (course->calls == 0)
        return 1;

    const double pace = fmax(course->last_batch_seconds / (double)course->last_batch, 1e-9);
    batch = least(batch, 2 * course->last_batch);
    batch = least(batch, whole_calls(limits->slice_seconds / pace));
    if (limits->seconds > 0) {
        const double left = limits->seconds - course->elapsed_seconds -
                            limits->sync_seconds_per_call * (double)course->calls;
        const double fitting = left / (pace + limits->sync_seconds_per_call);
        if (fitting < 0.5) { /* one more call would miss the scheduled time by more than it is missed now */
            *ending = ENDED_BY_TIME;
            return 0;
        }
        batch = least(batch, whole_calls(fitting));
    }
    return batch;
}
