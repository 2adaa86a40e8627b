/* SPDX-License-Identifier: Apache-2.0 */
/* The input matrix A and its transform F (paper, eqs. (2) and (4); two amplitudes are lost in the scan of the paper:
 * this pair is exact). A is never sparse, so that compression of zeros gains nothing.
 *
 *   A[p,q] = e^(2 pi I p/N) + e^(2 pi I q/N) + [q = p+1 mod N] + [p = 0 and q = 1]
 *   F[u,v] = e^(-2 pi I v/N) + N e^(-2 pi I v/N) [u+v = 0 mod N] + N^2 ([u=1,v=0] + [u=0,v=1])
 */
#pragma once

#include <complex.h>
#include <stdint.h>

struct difference {
    double total;            /* sum of |computed - expected| */
    double largest;          /* of |computed - expected| */
    double largest_relative; /* of |computed - expected| / |expected| */
};

/* e^(2 pi I k/N) for `count` values of k from `first` on. */
void unit_roots(int64_t first, int64_t count, int64_t width, double complex *roots);

/* Columns `first` to `first + count - 1` of row p of A; `roots` are the unit roots of these columns. */
void input_row(int64_t p, int64_t first, int64_t count, int64_t width, const double complex *roots,
               double complex *row);

/* The same columns of row v of the transpose of F, because the result is stored transposed. */
void expected_row(int64_t v, int64_t first, int64_t count, int64_t width, double complex *row);

/* Adds the differences of a row to `difference`; NaN and infinity count as the largest difference. */
void compare_row(const double complex *computed, const double complex *expected, int64_t count,
                 struct difference *difference);

/* The largest relative difference that rounding may cause. Two elements of the result are N^2; in their rows and
 * columns the other elements, of size 1, are the remainder of sums of N^2 that cancel: differences up to 0.3 N^2
 * epsilon were observed there for N from 32 to 2048, far smaller ones elsewhere. An element of a wrong row differs by
 * at least 2 pi / N. */
double tolerated_difference(int64_t width);
