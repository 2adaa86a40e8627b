/* SPDX-License-Identifier: Apache-2.0 */
/* See loop.h. */
#include "loop.h"

#include <math.h>
#include <stddef.h>

/* the middle of 2.5 and 5 ms on a logarithmic scale, so that estimates may be wrong in both directions */
static const double loop_seconds = 3.5355e-3;

/* between neighbouring lengths: 4096 a^8 = 128 MiB has a = 3.7 */
static const double next_length_growth = 4;

const char *const reduction_names[REDUCTIONS] = {NULL, "averaged_methods", "best_method", "nothing"};

void trend_add(struct trend *trend, double bytes, double seconds_per_exchange)
{
    trend->bytes[0] = trend->bytes[1];
    trend->seconds[0] = trend->seconds[1];
    trend->bytes[1] = bytes;
    trend->seconds[1] = seconds_per_exchange;
    if (trend->points < 2)
        trend->points++;
}

double trend_predict(const struct trend *trend, double bytes)
{
    if (trend->points == 0)
        return 0;
    const double last = trend->seconds[1], growth = fmax(1, bytes / trend->bytes[1]);
    if (growth > next_length_growth)
        return last * growth;
    if (trend->points == 1)
        return last;
    const double slope = (last - trend->seconds[0]) / (trend->bytes[1] - trend->bytes[0]);
    return fmin(last + fmax(slope, 0) * (bytes - trend->bytes[1]), last * growth);
}

int64_t choose_loop_length(double exchange_seconds, int64_t most)
{
    const double wanted = loop_seconds / exchange_seconds;
    if (wanted > (double)most)
        return most;
    /* the n nearest to `wanted` on that scale: n (n - 1) < wanted^2 <= n (n + 1); truncation would turn 1.9 into 1 */
    const double nearest = ceil(sqrt(wanted * wanted + 0.25) - 0.5);
    return nearest<1 ? 1 : nearest>(double) most ? most : (int64_t)nearest;
}

int64_t limit_loop_length(int64_t wanted, double exchange_seconds, double most_seconds)
{
    const double most = most_seconds / exchange_seconds;
    return most < 1 ? 1 : most < (double)wanted ? (int64_t)most : wanted;
}

enum reduction choose_reduction(const double cost_seconds[REDUCTIONS], double reserve_seconds, double left_seconds,
                                enum reduction harshest)
{
    int reduction = RUN_ALL_METHODS;
    while (reduction < (int)harshest && cost_seconds[reduction] + reserve_seconds > left_seconds)
        reduction++;
    return (enum reduction)reduction;
}
