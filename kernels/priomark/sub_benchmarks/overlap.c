/* SPDX-License-Identifier: Apache-2.0 */
/* I/O at the same time as a calculation (paper, section 4.1, async): see priomark_overlap() in priomark.h. The
 * calculation is a triad of vectors larger than a core's caches, in pieces; the transfer is polled between pieces. */
#include <math.h>

#include "fail.h"
#include "host.h"

enum { PIECE = 4096, PIECES = 64, ATTEMPTS = 4, WARM_UP_PIECES = 4 * PIECES };

static const double longer = 1.25; /* duration of the calculation over that of the transfer, at first */

struct calculation {
    double *a, *b, *c;
    int64_t next;
};

static struct calculation calculation_begin(void)
{
    const size_t bytes = (size_t)PIECE * PIECES * sizeof(double);
    struct calculation calculation = {(double *)priomark_allocate(bytes), (double *)priomark_allocate(bytes),
                                      (double *)priomark_allocate(bytes), 0};
    for (int64_t i = 0; i < (int64_t)PIECE * PIECES; i++)
        calculation.a[i] = calculation.b[i] = calculation.c[i] = 1.0 / (double)(i + 1);
    return calculation;
}

static void calculation_end(struct calculation *calculation)
{
    const size_t bytes = (size_t)PIECE * PIECES * sizeof(double);
    priomark_release((char *)calculation->a, bytes);
    priomark_release((char *)calculation->b, bytes);
    priomark_release((char *)calculation->c, bytes);
}

static void calculate_piece(struct calculation *calculation)
{
    const int64_t first = calculation->next++ % PIECES * PIECE;
    double *restrict a = calculation->a + first;
    const double *restrict b = calculation->b + first, *restrict c = calculation->c + first;
    for (int i = 0; i < PIECE; i++)
        a[i] = b[i] + 0.5 * c[i];
    __asm__ volatile("" : : "r"(a) : "memory"); /* the compiler must assume that the result is used */
}

static double calculate(struct calculation *calculation, int64_t pieces)
{
    const double start = priomark_now();
    for (int64_t i = 0; i < pieces; i++)
        calculate_piece(calculation);
    return priomark_now() - start;
}

static double transfer_alone(struct priomark *run, const struct priomark_transfer *transfer)
{
    priomark_barrier(run);
    const double start = priomark_now();
    transfer->start(transfer->context);
    transfer->finish(transfer->context);
    return priomark_now() - start;
}

struct both {
    double io_seconds, calculation_seconds;
    bool covered;
};

/* Only the transfer and the calculation. If the start blocks, its time is missing for the calculation. */
static struct both transfer_and_calculate(struct priomark *run, const struct priomark_transfer *transfer,
                                          struct calculation *calculation, int64_t pieces)
{
    struct both both = {0};
    priomark_begin(run);
    const double start = run->notes.begun;
    transfer->start(transfer->context);
    for (int64_t i = 0; i < pieces; i++) {
        if (!both.covered && transfer->done(transfer->context)) {
            both.covered = true;
            both.io_seconds = priomark_now() - start;
        }
        calculate_piece(calculation);
    }
    both.calculation_seconds = priomark_now() - start;
    transfer->finish(transfer->context);
    if (!both.covered)
        both.io_seconds = priomark_now() - start;
    run->notes.ended = start + both.io_seconds;
    return both;
}

static double most(double value)
{
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return value;
}

static void prepare_with(void (*prepare)(void *context), const struct priomark_transfer *transfer)
{
    if (prepare)
        prepare(transfer->context);
}

static void note(struct priomark *run, const struct priomark_transfer *transfer, double io_alone,
                 double calculation_alone, const struct both *both)
{
    priomark_request(run, transfer->operation, transfer->bytes, both->io_seconds);
    priomark_phase(run, PRIOMARK_ACCESS, both->io_seconds);
    priomark_value(run, "io_alone_seconds", io_alone);
    priomark_value(run, "io_overlapped_seconds", both->io_seconds);
    priomark_value(run, "calculation_alone_seconds", calculation_alone);
    priomark_value(run, "calculation_overlapped_seconds", both->calculation_seconds);
    priomark_value(run, "covered", both->covered);
}

/* A first transfer warms up and determines the length of the calculation. If the calculation does not cover the
 * transfer, because they slow each other down, it is lengthened. */
void priomark_overlap(struct priomark *run, const struct priomark_transfer *transfer, void (*prepare)(void *context))
{
    struct calculation calculation = calculation_begin();
    struct both both = {0};
    double io_alone = 0, calculation_alone = 0;
    prepare_with(prepare, transfer);
    const double first = most(transfer_alone(run, transfer));
    const double piece_seconds = calculate(&calculation, WARM_UP_PIECES) / WARM_UP_PIECES;
    int64_t pieces = llround(longer * first / piece_seconds) + 1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        prepare_with(prepare, transfer);
        io_alone = transfer_alone(run, transfer);
        priomark_barrier(run);
        calculation_alone = calculate(&calculation, pieces);
        prepare_with(prepare, transfer);
        both = transfer_and_calculate(run, transfer, &calculation, pieces);
        if (most(!both.covered) == 0)
            break;
        pieces *= 2;
    }
    note(run, transfer, io_alone, calculation_alone, &both);
    calculation_end(&calculation);
}
