/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithm of FTIO (paper, sections 3.4 to 3.7). What a stage reads, computes, sends and writes, and in which
 * order, is fixed, because it defines the benchmark. Only rows, Mini-Squares and one exchange buffer are in memory. */
#pragma once

#include <complex.h>
#include <fftw3-mpi.h>

#include "matrix.h"
#include "phases.h"
#include "sizes.h"
#include "storage.h"

struct transform {
    int rank;
    struct sizes sizes;
    struct storage storage;
    struct phases phases;
    fftw_plan plan;
    double complex *row;      /* this process's part of a row: FFTW transforms it in place */
    double complex *other;    /* of the same length: the unit roots of the same columns, or the expected row */
    double complex *mini[2];  /* a Mini-Square and its conjugate */
    double complex *exchange; /* rows of a Square that are exchanged */
    int64_t exchange_rows;
    int64_t row_bytes, mini_bytes, exchange_bytes; /* as allocated */
    struct difference difference;

    void (*report)(void *context, double share); /* called with the completed share of the stage; may be NULL */
    void *report_context;
};

extern void (*const stage_functions[STAGES])(struct transform *);

/* Allocates the buffers; an exchange transfers as many whole rows of a Square as fit into `exchange_bytes`, at least
 * one. Fails if FFTW does not give every process the same part of a row. Collective. */
struct transform transform_prepare(const struct sizes *sizes, int rank, const struct storage *storage,
                                   int64_t exchange_bytes);
void transform_free(struct transform *transform);
