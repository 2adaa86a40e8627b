/* SPDX-License-Identifier: Apache-2.0 */
/* See budget.h. */
#include "budget.h"
#include "units.h"

#include <math.h>

/* A run that is slower than planned, on a busy machine, is stopped before it has taken twice its budget. A budget of
 * seconds may be exceeded up to a minute, so that the run yields a score. What cannot yield one within this limit is
 * stopped when its budget is spent, but not in its first seconds, which tell little. */
static const double longest_run = 1.75, least_stop_seconds = 60, least_hopeless_seconds = 12;
enum { TELLING_PATTERNS = 3 };

static bool any_averaged(const struct course courses[METHODS])
{
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs && methods[m].averaged)
            return true;
    return false;
}

/* The best of the methods that enter b_eff; of all methods if the pattern has no such method. */
static int best_method(const struct course courses[METHODS])
{
    const bool averaged_only = any_averaged(courses);
    int best = -1;
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs && (methods[m].averaged || !averaged_only) &&
            (best < 0 || courses[m].best_bandwidth > courses[best].best_bandwidth))
            best = m;
    return best;
}

/* Methods that are only reported are left out first, but a pattern without other methods keeps them. */
static bool runs_under(enum reduction reduction, const struct course courses[METHODS], int method)
{
    if (!courses[method].runs || reduction == RUN_NOTHING)
        return false;
    if (reduction == RUN_ALL_METHODS)
        return true;
    if (reduction == RUN_AVERAGED_METHODS)
        return methods[method].averaged || !any_averaged(courses);
    return method == best_method(courses);
}

static int64_t loop_length_of(const struct request *request, const struct course *course, int method,
                              double exchange_seconds)
{
    const int64_t longest = request->longest_loop_length, places = methods[method].most_places;
    const int64_t most = places ? lesser(places - 1, longest) : longest;
    return course->trend.points == 0 ? lesser(course->first_loop_length, most)
                                     : choose_loop_length(exchange_seconds, most);
}

/* Seconds of an exchange at a longer length: the shortest of any method in any pattern at that length. The first
 * pattern has only its own trend. */
static double exchange_seconds_later(const struct request *request, const struct course courses[METHODS],
                                     const struct known *known, int length, int later)
{
    /* short lengths tell little about long ones: assume that loops adapt and take as long as now */
    const double bytes = (double)request->length[length < FIXED_LENGTHS ? length : later];
    double least = INFINITY;
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs)
            least = fmin(least, known->exchange_seconds[m][later] > 0 ? known->exchange_seconds[m][later]
                                                                      : trend_predict(&courses[m].trend, bytes));
    return least;
}

/* Seconds that the length `later` (`length` or a longer one) will take: the loops and their untimed exchanges, times
 * the overhead so far. */
static double cost_seconds(const struct request *request, const struct course courses[METHODS],
                           const struct known *known, const struct allowance *allowance, enum reduction reduction,
                           int length, int later)
{
    double seconds = 0;
    for (int m = 0; m < METHODS; m++)
        if (runs_under(reduction, courses, m)) {
            const double exchange = later == length ? trend_predict(&courses[m].trend, (double)request->length[length])
                                                    : exchange_seconds_later(request, courses, known, length, later);
            seconds += (double)(loop_length_of(request, &courses[m], m, exchange) + 1) * exchange;
        }
    return seconds * allowance->overhead_factor;
}

static double cost_of_longer_seconds(const struct request *request, const struct course courses[METHODS],
                                     const struct known *known, const struct allowance *allowance,
                                     enum reduction reduction, int length)
{
    double seconds = 0;
    for (int later = length + 1; later < LENGTHS; later++)
        seconds += cost_seconds(request, courses, known, allowance, reduction, length, later);
    return seconds;
}

/* Assumes that all remaining patterns take as long as this one. */
static double whole_run_seconds(const struct allowance *allowance, double rest_of_pattern_seconds)
{
    return allowance->run_seconds + (allowance->used_seconds + rest_of_pattern_seconds) * allowance->patterns_left;
}

/* Fills in whether the run ends here, and which time budget it needs. `rest_seconds` are those of the pattern by its
 * best method, `least_seconds` those of one loop of it. Before a pattern is complete, only its own loops tell how long
 * the others take, without what happened between them: first messages may be slow. */
static void decide_on_end(const struct request *request, const struct allowance *allowance, double rest_seconds,
                          double least_seconds, struct decision *decision)
{
    const double budget = request->time_budget_seconds, limit = fmax(longest_run * budget, least_stop_seconds);
    const double used = allowance->used_seconds, elapsed = allowance->run_seconds + used;
    const struct pace *pace = allowance->pace;
    decision->stops = elapsed + least_seconds > limit;
    if (pace->left == 0)
        return;
    const double least = pace->complete ? pace->fastest_seconds : rest_seconds / allowance->overhead_factor;
    const double usual = pace->complete ? pace->total_seconds / pace->complete : used + rest_seconds;
    const bool is_spent = elapsed > fmax(budget, least_hopeless_seconds);
    decision->stops |= is_spent && elapsed + least * (pace->left - 1) > limit;
    decision->needed_budget_seconds = fmax(elapsed, allowance->run_seconds + usual * pace->left);
    const bool is_known = pace->complete >= TELLING_PATTERNS || (is_spent && (pace->complete || rest_seconds > 0));
    decision->is_too_small = is_known && decision->needed_budget_seconds > longest_run * budget;
}

struct decision decide(const struct request *request, const struct course courses[METHODS], const struct known *known,
                       int length, const struct allowance *allowance)
{
    double cost[REDUCTIONS];
    for (int r = 0; r < REDUCTIONS; r++)
        cost[r] = cost_seconds(request, courses, known, allowance, (enum reduction)r, length, length);
    const double reserve = cost_of_longer_seconds(request, courses, known, allowance, RUN_BEST_METHOD, length);
    const double longer = cost_of_longer_seconds(request, courses, known, allowance, RUN_ALL_METHODS, length);
    struct decision decision = {.estimate_seconds = whole_run_seconds(allowance, cost[RUN_ALL_METHODS] + longer),
                                .reduction =
                                    choose_reduction(cost, reserve, allowance->share_seconds - allowance->used_seconds,
                                                     allowance->may_leave_out ? RUN_NOTHING : RUN_BEST_METHOD)};
    if (length == 0) /* the best method is not known yet */
        decision.reduction = RUN_ALL_METHODS;
    double least = decision.reduction == RUN_NOTHING ? 0 : INFINITY;
    for (int m = 0; m < METHODS; m++) {
        const double exchange = trend_predict(&courses[m].trend, (double)request->length[length]);
        if (runs_under((enum reduction)decision.reduction, courses, m)) {
            decision.loop_length[m] = loop_length_of(request, &courses[m], m, exchange);
            least = fmin(least, exchange);
        }
    }
    decide_on_end(request, allowance, cost[RUN_BEST_METHOD] + reserve, 2 * least, &decision);
    return decision;
}

struct decision decide_latency(const struct request *request, const struct course courses[METHODS],
                               const struct known *known, const struct allowance *allowance)
{
    const int64_t loop_length = lesser(LATENCY_LOOP, request->longest_loop_length);
    double cost[REDUCTIONS] = {0};
    for (int r = RUN_AVERAGED_METHODS; r < REDUCTIONS; r++)
        for (int m = 0; m < METHODS; m++)
            if (runs_under((enum reduction)r, courses, m))
                cost[r] += (double)(loop_length + 1) * courses[m].trend.seconds[1];
    cost[RUN_ALL_METHODS] = cost[RUN_AVERAGED_METHODS]; /* other methods do not enter a latency */
    const double rest = cost_of_longer_seconds(request, courses, known, allowance, RUN_AVERAGED_METHODS, 0);
    struct decision decision = {
        .estimate_seconds = whole_run_seconds(allowance, cost[RUN_ALL_METHODS] + rest),
        .reduction = choose_reduction(cost, rest, allowance->share_seconds - allowance->used_seconds, RUN_NOTHING)};
    for (int m = 0; m < METHODS; m++)
        if (runs_under((enum reduction)decision.reduction, courses, m) && runs_under(RUN_AVERAGED_METHODS, courses, m))
            decision.loop_length[m] = loop_length;
    return decision;
}
