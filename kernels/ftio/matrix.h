/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix that is transformed, and what has to come out (paper, eqs. (2) and (4); the scan of the paper lost two
 * amplitudes: this pair is exact). A is not sparse at any time, so nobody gains by compressing zeros.
 *
 *   A[p,q] = e^(2 pi I p/N) + e^(2 pi I q/N) + [q = p+1 mod N] + [p = 0 and q = 1]
 *   F[u,v] = e^(-2 pi I v/N) + N e^(-2 pi I v/N) [u+v = 0 mod N] + N^2 ([u=1,v=0] + [u=0,v=1])
 */
#ifndef FTIO_MATRIX_H
#define FTIO_MATRIX_H

#include <complex.h>
#include <stdint.h>

struct difference {
    double total;            /* sum of |found - expected| */
    double largest;          /* of |found - expected| */
    double largest_relative; /* of |found - expected| / |expected| */
};

/* e^(2 pi I k/N) for `count` values of k from `first` on. */
void unit_roots(int64_t first, int64_t count, int64_t width, double complex *roots);

/* Columns `first` to `first + count - 1` of row p of A; `roots` are the unit roots of these columns. */
void input_row(int64_t p, int64_t first, int64_t count, int64_t width, const double complex *roots,
               double complex *row);

/* The same columns of row v of the transpose of F, which is how the result is stored. */
void expected_row(int64_t v, int64_t first, int64_t count, int64_t width, double complex *row);

/* Adds the differences of a row to `difference`; what is no number counts as the largest one. */
void compare_row(const double complex *found, const double complex *expected, int64_t count,
                 struct difference *difference);

/* What rounding may leave as largest relative difference. Two elements of the result are N^2; in their rows and columns
 * the other elements, of size 1, are left over from sums of N^2 that cancel: 0.3 N^2 epsilon was seen for N from 32 to
 * 2048, elsewhere far less. An element from a wrong row is off by 2 pi / N at least. */
double tolerated_difference(int64_t width);

#endif
