/* SPDX-License-Identifier: Apache-2.0 */
/* Loop lengths, and reductions by the time budget, on networks given by a formula: an exchange of L bytes takes latency
 * + L / bandwidth. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "budget.h"
#include "check.h"
#include "lengths.h"
#include "loop.h"

enum { MOST = 100000 };

static const struct network {
    double latency, bandwidth;
} networks[] = {{2e-7, 2e10}, {1e-6, 1e10}, {1.5e-6, 1.2e9}, {5e-5, 1.2e8}, {2e-3, 1e6}, {1e-2, 1e9}};
enum { NETWORKS = sizeof networks / sizeof networks[0] };

static double exchange_seconds(const struct network *network, double bytes)
{
    return network->latency + bytes / network->bandwidth;
}

/* The interval of the specification, with rounding for exchanges of some microseconds. */
static void loops_after_the_first_take_2_5_to_5_ms(void)
{
    int64_t lengths[LENGTHS];
    message_lengths(INT64_C(1) << 25, lengths);
    for (int n = 0; n < NETWORKS; n++) {
        struct trend trend = {0};
        for (int k = 0; k < LENGTHS; k++) {
            const double bytes = (double)lengths[k], seconds = exchange_seconds(&networks[n], bytes);
            /* one point does not determine the slope; in a slow network the straight line is one length late */
            const int64_t loop = k < 3 ? 1 : choose_loop_length(trend_predict(&trend, bytes), MOST);
            if (k >= 3)
                CHECK((double)loop * seconds <= 5.001e-3 || loop == 1, "network %d, %.0f byte: %" PRId64 " of %g s", n,
                      bytes, loop, seconds);
            if (k >= 3)
                CHECK((double)loop * seconds >= 2.499e-3, "network %d, %.0f byte: %" PRId64 " of %g s", n, bytes, loop,
                      seconds);
            trend_add(&trend, bytes, seconds);
        }
    }
}

static void loop_length_is_at_least_1_and_at_most_what_is_allowed(void)
{
    CHECK(choose_loop_length(1e-9, 4095) == 4095, "a nanosecond");
    CHECK(choose_loop_length(10, 4095) == 1, "ten seconds");
}

static void prediction_follows_a_straight_line_and_never_falls(void)
{
    struct trend trend = {0};
    CHECK(trend_predict(&trend, 100) == 0, "nothing known");
    trend_add(&trend, 1000, 2.0);
    CHECK(trend_predict(&trend, 2000) == 2.0, "one point: %g", trend_predict(&trend, 2000));
    trend_add(&trend, 2000, 3.0);
    CHECK(fabs(trend_predict(&trend, 4000) - 5.0) < 1e-12, "line: %g", trend_predict(&trend, 4000));
    CHECK(fabs(trend_predict(&trend, 20000) - 30.0) < 1e-12, "far: %g", trend_predict(&trend, 20000));
    trend_add(&trend, 4000, 1.0);
    CHECK(trend_predict(&trend, 8000) == 1.0, "falling times: %g", trend_predict(&trend, 8000));
    trend_add(&trend, 4100, 100.0);
    CHECK(trend_predict(&trend, 8200) <= 200.0 + 1e-9, "no more than in proportion: %g", trend_predict(&trend, 8200));
}

static void first_loop_has_its_length_unless_there_is_no_time(void)
{
    CHECK(limit_loop_length(300, 1e-6, 0.01) == 300, "fast");
    CHECK(limit_loop_length(300, 1e-4, 0.01) == 100 || limit_loop_length(300, 1e-4, 0.01) == 99, "100 us");
    CHECK(limit_loop_length(300, 1.0, 0.01) == 1, "slow");
    CHECK(limit_loop_length(300, 1.0, 0) == 1, "no time left");
}

static void reductions_are_taken_in_order_until_one_fits(void)
{
    const double cost[REDUCTIONS] = {10, 6, 2, 0};
    CHECK(choose_reduction(cost, 3, 13, RUN_NOTHING) == RUN_ALL_METHODS, "all fits");
    CHECK(choose_reduction(cost, 3, 12.9, RUN_NOTHING) == RUN_AVERAGED_METHODS, "not all");
    CHECK(choose_reduction(cost, 3, 8.9, RUN_NOTHING) == RUN_BEST_METHOD, "one method");
    CHECK(choose_reduction(cost, 3, 4.9, RUN_NOTHING) == RUN_NOTHING, "nothing fits");
    CHECK(choose_reduction(cost, 3, -5, RUN_BEST_METHOD) == RUN_BEST_METHOD, "the first repetition is never left out");
    CHECK(reduction_names[RUN_ALL_METHODS] == NULL && strcmp(reduction_names[RUN_BEST_METHOD], "best_method") == 0 &&
              strcmp(reduction_names[RUN_AVERAGED_METHODS], "averaged_methods") == 0 &&
              strcmp(reduction_names[RUN_NOTHING], "nothing") == 0,
          "names in the log");
}

/* A pattern of one method on the network of 1 us and 10 GByte/s, before it is measured at `next`. The time budget of
 * the run is 240 s; the pattern is the first of 141 to be measured. */
static struct decision decision_of(int next, double last_factor, const struct known *known, double elapsed,
                                   struct pace pace)
{
    struct request request = {.methods = 1, .longest_loop_length = MOST, .time_budget_seconds = 240, .repetitions = 3};
    struct course courses[METHODS] = {{.runs = true, .first_loop_length = 300}};
    const struct allowance allowance = {.run_seconds = elapsed,
                                        .share_seconds = fmax(240 - elapsed, 0) / 141,
                                        .overhead_factor = 1,
                                        .patterns_left = 141,
                                        .pace = &pace};
    message_lengths(INT64_C(1) << 25, request.length);
    for (int k = 0; k < next; k++)
        trend_add(&courses[0].trend, (double)request.length[k],
                  exchange_seconds(&networks[1], (double)request.length[k]) * (k == next - 1 ? last_factor : 1));
    return decide(&request, courses, known, next, &allowance);
}

static struct decision decision_at(int next, double last_factor, const struct known *known, double elapsed)
{
    return decision_of(next, last_factor, known, elapsed, (struct pace){0});
}

static struct known known_network(void)
{
    struct known known = {0};
    int64_t lengths[LENGTHS];
    message_lengths(INT64_C(1) << 25, lengths);
    for (int k = 0; k < LENGTHS; k++)
        known.exchange_seconds[0][k] = exchange_seconds(&networks[1], (double)lengths[k]);
    return known;
}

/* One loop at 10 KiB took a thousand times as long. The times of longer lengths are known from other patterns: 8
 * lengths of at most 3.4 ms per exchange, in 141 patterns, take some seconds. */
static void a_disturbed_loop_is_not_extrapolated_to_lengths_that_other_patterns_have_measured(void)
{
    const struct known known = known_network(), nothing = {0};
    CHECK(decision_at(14, 1, &known, 0).estimate_seconds < 10, "undisturbed: %g s",
          decision_at(14, 1, &known, 0).estimate_seconds);
    const double estimate = decision_at(14, 1000, &known, 0).estimate_seconds;
    CHECK(estimate > 1 && estimate < 10, "disturbed: %g s", estimate);
    CHECK(decision_at(14, 1000, &nothing, 0).estimate_seconds > 1000, "the first pattern knows no better");
}

/* 1.75 * 240 s = 420 s. */
static void a_run_is_stopped_when_it_has_taken_far_more_than_its_budget(void)
{
    const struct known known = known_network();
    CHECK(!decision_at(5, 1, &known, 419.9).stops, "before");
    CHECK(decision_at(5, 1, &known, 420.1).stops, "after");
    CHECK(decision_at(20, 1, &known, 419.9).reduction == RUN_BEST_METHOD, "the first repetition leaves out no length");
}

/* 30 of 36 averaged patterns are left when the budget of 240 s is spent: this one and 29 more, within 420 s. */
static void a_run_is_stopped_early_only_if_its_budget_is_spent_and_a_score_out_of_reach(void)
{
    const struct known known = known_network();
    const struct pace fast = {.complete = 6, .left = 30, .fastest_seconds = 179.8 / 29, .total_seconds = 240};
    const struct pace slow = {.complete = 6, .left = 30, .fastest_seconds = 180.0 / 29, .total_seconds = 240};
    CHECK(!decision_of(5, 1, &known, 240.1, fast).stops, "29 patterns take 179.8 of 179.9 s");
    CHECK(decision_of(5, 1, &known, 240.1, slow).stops, "29 patterns take 180 of 179.9 s");
    const struct pace slower = {.complete = 6, .left = 30, .fastest_seconds = 40, .total_seconds = 240};
    CHECK(!decision_of(5, 1, &known, 239.9, slower).stops, "the budget is not spent");
    const struct pace done = {.complete = 36, .left = 0, .fastest_seconds = 100, .total_seconds = 3600};
    CHECK(!decision_of(5, 1, &known, 300, done).stops, "a score is sure");
    CHECK(decision_of(5, 1, &known, 300, done).needed_budget_seconds == 0, "no budget is needed any more");
}

/* 120 s for two or three patterns, 33 left: 120 + 33 * 60 or 40 s. */
static void three_patterns_tell_which_budget_is_needed(void)
{
    const struct known known = known_network();
    const struct pace two = {.complete = 2, .left = 33, .fastest_seconds = 60, .total_seconds = 120};
    const struct pace three = {.complete = 3, .left = 33, .fastest_seconds = 30, .total_seconds = 120};
    CHECK(!decision_of(5, 1, &known, 120, two).is_too_small, "too early");
    CHECK(decision_of(5, 1, &known, 120, three).is_too_small, "early enough");
    CHECK(fabs(decision_of(5, 1, &known, 120, three).needed_budget_seconds - 1440) < 1e-6, "not %g s",
          decision_of(5, 1, &known, 120, three).needed_budget_seconds);
    /* 420 s with 10 s each: 120 + 30 * 10 */
    const struct pace enough = {.complete = 6, .left = 30, .fastest_seconds = 9, .total_seconds = 59.9};
    const struct pace little = {.complete = 6, .left = 30, .fastest_seconds = 9, .total_seconds = 60.1};
    CHECK(!decision_of(5, 1, &known, 120, enough).is_too_small, "1.75 times the budget suffices");
    CHECK(decision_of(5, 1, &known, 120, little).is_too_small, "1.75 times the budget does not suffice");
}

int main(void)
{
    a_run_is_stopped_early_only_if_its_budget_is_spent_and_a_score_out_of_reach();
    three_patterns_tell_which_budget_is_needed();
    a_disturbed_loop_is_not_extrapolated_to_lengths_that_other_patterns_have_measured();
    a_run_is_stopped_when_it_has_taken_far_more_than_its_budget();
    loops_after_the_first_take_2_5_to_5_ms();
    loop_length_is_at_least_1_and_at_most_what_is_allowed();
    prediction_follows_a_straight_line_and_never_falls();
    first_loop_has_its_length_unless_there_is_no_time();
    reductions_are_taken_in_order_until_one_fits();
    return checks_status();
}
