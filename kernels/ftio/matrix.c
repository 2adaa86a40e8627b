/* SPDX-License-Identifier: Apache-2.0 */
/* See matrix.h. */
#include "matrix.h"

#include <float.h>
#include <math.h>

static const double largest_number =
    1e300; /* used for infinity and NaN, because the log contains finite numbers only */

static double complex unit_root(int64_t k, int64_t width)
{
    const double angle = 2 * M_PI * (double)(k % width) / (double)width;
    return cos(angle) + sin(angle) * I;
}

void unit_roots(int64_t first, int64_t count, int64_t width, double complex *roots)
{
    for (int64_t k = 0; k < count; k++)
        roots[k] = unit_root(first + k, width);
}

static void add_at(double complex *row, int64_t first, int64_t count, int64_t column, double complex value)
{
    if (column >= first && column < first + count)
        row[column - first] += value;
}

void input_row(int64_t p, int64_t first, int64_t count, int64_t width, const double complex *roots, double complex *row)
{
    const double complex root = unit_root(p, width);
    for (int64_t k = 0; k < count; k++)
        row[k] = root + roots[k];
    add_at(row, first, count, (p + 1) % width, 1);
    if (p == 0)
        add_at(row, first, count, 1, 1);
}

void expected_row(int64_t v, int64_t first, int64_t count, int64_t width, double complex *row)
{
    const double complex root = conj(unit_root(v, width));
    const double n = (double)width;
    for (int64_t k = 0; k < count; k++)
        row[k] = root;
    add_at(row, first, count, (width - v) % width, n * root);
    if (v < 2)
        add_at(row, first, count, 1 - v, n * n);
}

static double bounded(double value)
{
    return isfinite(value) ? fmin(value, largest_number) : largest_number;
}

void compare_row(const double complex *computed, const double complex *expected, int64_t count,
                 struct difference *difference)
{
    double total = 0, largest = difference->largest, relative = difference->largest_relative;
    for (int64_t k = 0; k < count; k++) {
        const double off = bounded(cabs(computed[k] - expected[k])), ratio = off / cabs(expected[k]);
        total += off;
        largest = off > largest ? off : largest;
        relative = ratio > relative ? ratio : relative;
    }
    difference->total = bounded(difference->total + total);
    difference->largest = largest;
    difference->largest_relative = relative;
}

double tolerated_difference(int64_t width)
{
    return 4 * DBL_EPSILON * (double)width * (double)width;
}
