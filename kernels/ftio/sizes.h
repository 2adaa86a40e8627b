/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of FTIO (paper, sections 3.3 and 5.5): from the input parameter i and c processes, N = i^2 c. */
#pragma once

#include <complex.h>
#include <stdint.h>

enum { SMALLEST_INPUT = 2, LARGEST_INPUT = 40000, ELEMENT_BYTES = sizeof(double complex) };

struct sizes {
    int64_t input;     /* i, the width of a Mini-Square */
    int64_t processes; /* c */
    int64_t square;    /* i^2, the width of a Square and of what a process stores of each row */
    int64_t width;     /* N = i^2 c, of the matrix */
    int64_t bytes;     /* of the whole matrix, 16 N^2 */
};

/* The input must be valid. */
struct sizes sizes_of(int64_t input, int64_t processes);

/* The lowest valid input parameter from `lowest` on: c divides i^2 (and so i^2 >= c), i is a multiple of `multiple`,
 * and the size of the matrix is representable. 0 if there is none. */
int64_t next_input(int64_t lowest, int64_t processes, int64_t multiple);

/* Eq. (5): the lowest valid input parameter that is at least sqrt(c) + 1. */
int64_t automatic_input(int64_t processes, int64_t multiple);

/* The lowest valid input parameter whose matrix has at least this many bytes, and which has no other prime factors than
 * 2, 3, 5 and those of c, so that FFTs on different numbers of processes are similar (paper, section 5.3.3). */
int64_t input_for_bytes(int64_t bytes, int64_t processes, int64_t multiple);
