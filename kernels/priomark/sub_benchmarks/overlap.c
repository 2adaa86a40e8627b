/* SPDX-License-Identifier: Apache-2.0 */
/* See overlap.h. The calculation is a triad of vectors larger than a core's caches, in pieces; the transfer is polled
 * between pieces. */
#include "overlap.h"

#include <math.h>

#include "fail.h"
#include "host.h"
#include "memory.h"

enum { PIECE = 4096, PIECES = 64, ATTEMPTS = 4, WARM_UP_PIECES = 4 * PIECES };

static const double longer = 1.25; /* duration of the calculation over that of the transfer, at first */

/* --- the transfer ------------------------------------------------------------------------------------------------- */

/* With --read-shift, every transfer reads what another process has just written. */
static void write_anew(const struct transfer *transfer)
{
    struct priomark_file own = transfer->file;
    file_choose_written(&own, transfer->now);
    file_fill(&own);
}

/* All transfers start with a file that is on disk, and in the page cache or not as the workload states. */
static void prepare(struct transfer *transfer)
{
    struct priomark_file *file = &transfer->file;
    if (file->run->shift && transfer->operation == PRIOMARK_READ)
        write_anew(transfer);
    file->interface->sync(file);
    priomark_barrier(file->run);
    file_evict(file);
}

void transfer_start(struct transfer *transfer)
{
    struct priomark_file *file = &transfer->file;
    transfer->running = true;
    file->interface->start(file, transfer->operation, transfer->data, file->block_bytes, file->start);
}

static bool is_done(struct transfer *transfer)
{
    transfer->running = transfer->running && !transfer->file.interface->done(&transfer->file);
    return !transfer->running;
}

void transfer_finish(struct transfer *transfer)
{
    if (transfer->running)
        transfer->file.interface->finish(&transfer->file);
    transfer->running = false;
}

/* --- the calculation ---------------------------------------------------------------------------------------------- */

struct calculation {
    double *a, *b, *c;
    int64_t next;
};

static struct calculation calculation_begin(void)
{
    const size_t bytes = (size_t)PIECE * PIECES * sizeof(double);
    struct calculation calculation = {(double *)buffer_allocate(bytes), (double *)buffer_allocate(bytes),
                                      (double *)buffer_allocate(bytes), 0};
    for (int64_t i = 0; i < (int64_t)PIECE * PIECES; i++)
        calculation.a[i] = calculation.b[i] = calculation.c[i] = 1.0 / (double)(i + 1);
    return calculation;
}

static void calculation_end(struct calculation *calculation)
{
    const size_t bytes = (size_t)PIECE * PIECES * sizeof(double);
    buffer_free((char *)calculation->a, bytes);
    buffer_free((char *)calculation->b, bytes);
    buffer_free((char *)calculation->c, bytes);
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
    const double start = now_seconds();
    for (int64_t i = 0; i < pieces; i++)
        calculate_piece(calculation);
    return now_seconds() - start;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

static double transfer_alone(struct transfer *transfer)
{
    priomark_barrier(transfer->file.run);
    const double start = now_seconds();
    transfer_start(transfer);
    transfer_finish(transfer);
    return now_seconds() - start;
}

struct both {
    double io_seconds, calculation_seconds;
    bool covered;
};

/* Only the transfer and the calculation. If the start blocks, its time is missing for the calculation. */
static struct both transfer_and_calculate(struct transfer *transfer, struct calculation *calculation, int64_t pieces)
{
    struct priomark *run = transfer->file.run;
    struct both both = {0};
    priomark_begin(run);
    const double start = run->notes.begun;
    transfer_start(transfer);
    for (int64_t i = 0; i < pieces; i++) {
        if (!both.covered && is_done(transfer)) {
            both.covered = true;
            both.io_seconds = now_seconds() - start;
        }
        calculate_piece(calculation);
    }
    both.calculation_seconds = now_seconds() - start;
    transfer_finish(transfer);
    if (!both.covered)
        both.io_seconds = now_seconds() - start;
    priomark_end(run);
    run->notes.ended = start + both.io_seconds; /* without the part of the calculation after the transfer */
    return both;
}

static double most(double value)
{
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return value;
}

static void note(const struct transfer *transfer, double io_alone, double calculation_alone, const struct both *both)
{
    struct priomark *run = transfer->file.run;
    priomark_request(run, transfer->operation, transfer->file.block_bytes, both->io_seconds);
    priomark_phase(run, PRIOMARK_ACCESS, both->io_seconds);
    priomark_value(run, "io_alone_seconds", io_alone);
    priomark_value(run, "io_overlapped_seconds", both->io_seconds);
    priomark_value(run, "calculation_alone_seconds", calculation_alone);
    priomark_value(run, "calculation_overlapped_seconds", both->calculation_seconds);
    priomark_value(run, "covered", both->covered);
}

/* A first transfer warms up and determines the length of the calculation. If the calculation does not cover the
 * transfer, because they slow each other down, it is lengthened. */
void overlap(struct transfer *transfer)
{
    struct calculation calculation = calculation_begin();
    struct both both = {0};
    double io_alone = 0, calculation_alone = 0;
    prepare(transfer);
    const double first = most(transfer_alone(transfer));
    const double piece_seconds = calculate(&calculation, WARM_UP_PIECES) / WARM_UP_PIECES;
    int64_t pieces = llround(longer * first / piece_seconds) + 1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        prepare(transfer);
        io_alone = transfer_alone(transfer);
        priomark_barrier(transfer->file.run);
        calculation_alone = calculate(&calculation, pieces);
        prepare(transfer);
        both = transfer_and_calculate(transfer, &calculation, pieces);
        if (most(!both.covered) == 0)
            break;
        pieces *= 2;
    }
    note(transfer, io_alone, calculation_alone, &both);
    calculation_end(&calculation);
}
