/* See budget.h. */
#include "budget.h"

static bool any_averaged(const struct course courses[METHODS])
{
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs && methods[m].averaged)
            return true;
    return false;
}

/* Of the methods that enter b_eff; of all where a pattern has no such method. */
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

/* Reported methods are left out first, but a pattern that has no other method keeps them. */
static bool runs_under(enum reduction reduction, const struct course courses[METHODS], int method)
{
    if (!courses[method].runs)
        return false;
    if (reduction == RUN_ALL_METHODS)
        return true;
    if (reduction == RUN_AVERAGED_METHODS)
        return methods[method].averaged || !any_averaged(courses);
    return method == best_method(courses);
}

int repetitions_under(enum reduction reduction, const struct request *request)
{
    return reduction == RUN_BEST_METHOD_ONCE ? 1 : request->repetitions;
}

static int64_t loop_length_of(const struct request *request, const struct course *course, int method, int64_t bytes)
{
    const int64_t longest = request->longest_loop_length, places = methods[method].most_places;
    const int64_t most = places && places - 1 < longest ? places - 1 : longest;
    return choose_loop_length(&course->trend, (double)bytes, course->first_loop_length, most);
}

/* Seconds that a length will take: the loops and their untimed exchanges, times what came on top of them before. */
static double cost_seconds(const struct request *request, const struct course courses[METHODS],
                           enum reduction reduction, int64_t bytes, double overhead_factor)
{
    double seconds = 0;
    for (int m = 0; m < METHODS; m++)
        if (runs_under(reduction, courses, m))
            seconds += (double)(loop_length_of(request, &courses[m], m, bytes) + 1) *
                       trend_predict(&courses[m].trend, (double)bytes);
    return seconds * repetitions_under(reduction, request) * overhead_factor;
}

struct decision decide(const struct request *request, const struct course courses[METHODS], int length,
                       const struct allowance *allowance, double *estimate_seconds)
{
    const double overhead_factor = allowance->overhead_factor;
    double cost[REDUCTIONS], reserve = 0;
    for (int r = 0; r < REDUCTIONS; r++)
        cost[r] = cost_seconds(request, courses, (enum reduction)r, request->length[length], overhead_factor);
    *estimate_seconds = cost[RUN_ALL_METHODS];
    for (int longer = length + 1; longer < LENGTHS; longer++) {
        /* short lengths say little about long ones: take it that loops adapt and so take as long as now */
        const int64_t bytes = request->length[length < FIXED_LENGTHS ? length : longer];
        reserve += cost_seconds(request, courses, RUN_BEST_METHOD_ONCE, bytes, overhead_factor);
        *estimate_seconds += cost_seconds(request, courses, RUN_ALL_METHODS, bytes, overhead_factor);
    }
    struct decision decision = {
        .reduction = choose_reduction(cost, reserve, allowance->share_seconds - allowance->used_seconds)};
    if (length == 0) /* no method is the best one yet */
        decision.reduction = RUN_ALL_METHODS;
    for (int m = 0; m < METHODS; m++)
        if (runs_under((enum reduction)decision.reduction, courses, m))
            decision.loop_length[m] = loop_length_of(request, &courses[m], m, request->length[length]);
    return decision;
}

void log_reduction(struct log *log, const struct pattern *pattern, int64_t bytes, const struct decision *decision,
                   double elapsed_seconds, double estimate_seconds)
{
    json_t *running = json_array();
    for (int m = 0; m < METHODS; m++)
        if (decision->loop_length[m] > 0)
            json_array_append_new(running, json_string(methods[m].name));
    log_write(log, "budget",
              json_pack("{s:s, s:I, s:s, s:o, s:f, s:f}", "pattern", pattern->name, "message_bytes", (json_int_t)bytes,
                        "reduced_to", reduction_names[decision->reduction], "methods", running, "elapsed_seconds",
                        elapsed_seconds, "estimate_seconds", estimate_seconds));
}
