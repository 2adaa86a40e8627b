/* SPDX-License-Identifier: Apache-2.0 */
/* See suspects.h. */
#include "suspects.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "matchings.h"
#include "memory.h"

static const double suspicious = 1.1;

int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The slowest value of the fastest quarter; NAN if there are no values. Sorts the values. */
static double fast_quarter(double *values, int count)
{
    if (count == 0)
        return NAN;
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[(count - 1) / 4];
}

/* The mean of the middle two of an even number of values; NAN if there are no values. Sorts the values. */
static double median(double *values, int count)
{
    if (count == 0)
        return NAN;
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void compare_pairs(int nodes, const int *partner, const double *seconds, double *ratio)
{
    double *pairs = allocate((size_t)nodes, sizeof *pairs);
    int count = 0;
    for (int node = 0; node < nodes; node++) {
        const int other = partner[node];
        ratio[node] = other == NO_PARTNER ? NAN : fmax(seconds[node], seconds[other]);
        if (other > node)
            pairs[count++] = ratio[node];
    }
    const double usual = fast_quarter(pairs, count);
    for (int node = 0; node < nodes; node++)
        ratio[node] /= usual;
    free(pairs);
}

void raise_levels(int nodes, int matchings, const double *ratio, double *level)
{
    double *of_node = allocate((size_t)matchings + 1, sizeof *of_node);
    for (int node = 0; node < nodes; node++) {
        int count = 0;
        for (int matching = 0; matching < matchings; matching++)
            if (!isnan(ratio[matching * nodes + node]))
                of_node[count++] = ratio[matching * nodes + node];
        level[node] = fmax(level[node], fast_quarter(of_node, count));
    }
    free(of_node);
}

/* The level of each node over that of the median node; NAN remains. */
static double *relative_levels(int nodes, const double *level)
{
    double *known = allocate((size_t)nodes, sizeof *known), *relative = allocate((size_t)nodes, sizeof *relative);
    int count = 0;
    for (int node = 0; node < nodes; node++)
        if (!isnan(level[node]))
            known[count++] = level[node];
    const double usual = median(known, count);
    free(known);
    for (int node = 0; node < nodes; node++)
        relative[node] = level[node] / usual;
    return relative;
}

/* The node outside of `taken` whose level is closest to 1, or NO_PARTNER. Of group `group`, or of any if it is -1. */
static int closest_to_others(int nodes, const double *level, const int *group, int of_group, int taken)
{
    int best = NO_PARTNER;
    for (int node = 0; node < nodes; node++)
        if (level[node] <= suspicious && node != taken && (of_group < 0 || group[node] == of_group) &&
            (best == NO_PARTNER || fabs(level[node] - 1) < fabs(level[best] - 1)))
            best = node;
    return best;
}

static bool find_good(int nodes, const double *level, const int *group, int of_group, struct suspect *suspect)
{
    suspect->with[0] = closest_to_others(nodes, level, group, of_group, NO_PARTNER);
    suspect->with[1] = closest_to_others(nodes, level, group, of_group, suspect->with[0]);
    suspect->good = suspect->with[1] == NO_PARTNER ? 0 : GOOD_NODES;
    return suspect->good > 0;
}

int list_suspects(int nodes, const double *level, const int *group, struct suspect suspects[MOST_SUSPECTS])
{
    double *relative = relative_levels(nodes, level);
    int count = 0;
    for (int node = 0; node < nodes; node++) {
        if (!(relative[node] > suspicious))
            continue;
        int place = count < MOST_SUSPECTS ? count++ : MOST_SUSPECTS;
        for (; place > 0 && relative[node] > suspects[place - 1].ratio; place--)
            if (place < MOST_SUSPECTS)
                suspects[place] = suspects[place - 1];
        if (place < MOST_SUSPECTS)
            suspects[place] = (struct suspect){.node = node, .ratio = relative[node]};
    }
    for (int i = 0; i < count; i++)
        if (!find_good(nodes, relative, group, group[suspects[i].node], &suspects[i]))
            find_good(nodes, relative, group, -1, &suspects[i]);
    free(relative);
    return count;
}
