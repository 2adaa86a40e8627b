/* SPDX-License-Identifier: Apache-2.0 */
/* See stages.h. One function per stage; their table is at the end. */
#include "stages.h"

#include "fail.h"
#include "memory.h"
#include "peers.h"

/* --- access to the storage, each call timed separately ------------------------------------------------------------ */

static void read_block(struct transform *t, struct block block, double complex *elements)
{
    const int64_t calls = t->storage.method->read(&t->storage, block, elements);
    activity_ends(&t->phases, ACTIVITY_READ, block.rows * block.columns * ELEMENT_BYTES, calls);
}

static void write_block(struct transform *t, struct block block, const double complex *elements)
{
    const int64_t calls = t->storage.method->write(&t->storage, block, elements);
    activity_ends(&t->phases, ACTIVITY_WRITE, block.rows * block.columns * ELEMENT_BYTES, calls);
}

/* The data of a stage is on disk before the stage ends; the time of this counts as I/O. */
static void flush(struct transform *t)
{
    t->storage.method->flush(&t->storage);
    activity_ends(&t->phases, ACTIVITY_FLUSH, 0, 1);
}

static void computed(struct transform *t)
{
    activity_ends(&t->phases, ACTIVITY_COMPUTE, 0, 1);
}

static void report(struct transform *t, int64_t done, int64_t all)
{
    peers_progress(done, UNKNOWN_OFFSET);
    if (t->report)
        t->report(t->report_context, (double)done / (double)all);
}

static struct block whole_row(const struct transform *t, int64_t row)
{
    return (struct block){row, 0, 1, t->sizes.square};
}

/* --- section 3.4: initialisation ---------------------------------------------------------------------------------- */

static void initialise(struct transform *t)
{
    const int64_t width = t->sizes.width, square = t->sizes.square, first = t->rank * square;
    t->storage.method->open(&t->storage);
    activity_ends(&t->phases, ACTIVITY_OPEN, 0, 1);
    t->plan = fftw_mpi_plan_dft_1d(width, t->row, t->row, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    if (!t->plan)
        fail("FFTW cannot plan a transform of %td elements; choose another --input", (ptrdiff_t)width);
    activity_ends(&t->phases, ACTIVITY_PLAN, 0, 1);
    unit_roots(first, square, width, t->other);
    for (int64_t p = 0; p < width; p++) {
        input_row(p, first, square, width, t->other, t->row);
        computed(t);
        write_block(t, whole_row(t, p), t->row);
        report(t, p, width);
    }
    flush(t);
}

/* --- section 3.5: the DFT of each row ----------------------------------------------------------------------------- */

static void dft_series(struct transform *t)
{
    for (int64_t p = 0; p < t->sizes.width; p++) {
        read_block(t, whole_row(t, p), t->row);
        fftw_execute(t->plan);
        activity_ends(&t->phases, ACTIVITY_FFT, 0, 1);
        write_block(t, whole_row(t, p), t->row);
        report(t, p, t->sizes.width);
    }
    flush(t);
}

/* --- section 3.6: transposition ----------------------------------------------------------------------------------- */

static void transpose_in_memory(double complex *mini, int64_t width)
{
    for (int64_t a = 0; a < width; a++) {
        for (int64_t b = a + 1; b < width; b++) {
            const double complex swapped = mini[a * width + b];
            mini[a * width + b] = mini[b * width + a];
            mini[b * width + a] = swapped;
        }
    }
}

/* Swaps the Mini-Squares a, b and b, a of a Square and transposes each; one on the Main Diagonal stays in place. */
static void transpose_pair(struct transform *t, int64_t square, int64_t a, int64_t b)
{
    const int64_t i = t->sizes.input, top = square * t->sizes.square;
    const struct block block = {top + a * i, b * i, i, i}, mirrored = {top + b * i, a * i, i, i};
    read_block(t, block, t->mini[0]);
    if (a != b)
        read_block(t, mirrored, t->mini[1]);
    transpose_in_memory(t->mini[0], i);
    if (a != b)
        transpose_in_memory(t->mini[1], i);
    computed(t);
    write_block(t, mirrored, t->mini[0]);
    if (a != b)
        write_block(t, block, t->mini[1]);
}

static void transpose_squares(struct transform *t)
{
    const int64_t i = t->sizes.input, squares = t->sizes.processes;
    for (int64_t square = 0; square < squares; square++) {
        for (int64_t a = 0; a < i; a++) {
            for (int64_t b = a; b < i; b++)
                transpose_pair(t, square, a, b);
            report(t, square * i + a, squares * i);
        }
    }
    flush(t);
}

/* On a diagonal, a process exchanges the Square with the number of its partner. */
static void exchange_square(struct transform *t, int partner)
{
    const int64_t square = t->sizes.square;
    for (int64_t row = 0; row < square; row += t->exchange_rows) {
        const int64_t rows = row + t->exchange_rows < square ? t->exchange_rows : square - row;
        const struct block block = {partner * square + row, 0, rows, square};
        read_block(t, block, t->exchange);
        MPI_CHECK(MPI_Sendrecv_replace(t->exchange, (int)(rows * square), MPI_C_DOUBLE_COMPLEX, partner, 0, partner, 0,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        activity_ends(&t->phases, ACTIVITY_EXCHANGE, rows * square * ELEMENT_BYTES, 1);
        write_block(t, block, t->exchange);
    }
}

static void exchange_squares(struct transform *t)
{
    const int processes = (int)t->sizes.processes;
    for (int diagonal = 0; diagonal < processes; diagonal++) {
        const int partner = (diagonal + processes - t->rank) % processes;
        if (partner != t->rank)
            exchange_square(t, partner);
        report(t, diagonal, processes);
    }
    flush(t);
}

/* --- section 3.7: verification ------------------------------------------------------------------------------------ */

static void verify(struct transform *t)
{
    const int64_t square = t->sizes.square, first = t->rank * square;
    for (int64_t v = 0; v < t->sizes.width; v++) {
        read_block(t, whole_row(t, v), t->row);
        expected_row(v, first, square, t->sizes.width, t->other);
        compare_row(t->row, t->other, square, &t->difference);
        computed(t);
        report(t, v, t->sizes.width);
    }
}

void (*const stage_functions[STAGES])(struct transform *) = {
    [STAGE_INITIALISE] = initialise,     [STAGE_SERIES_1] = dft_series, [STAGE_TRANSPOSE] = transpose_squares,
    [STAGE_EXCHANGE] = exchange_squares, [STAGE_SERIES_2] = dft_series, [STAGE_VERIFY] = verify,
};

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* FFTW must use, for input and output, a part of the row on each process that is one Square wide, in rank order. */
static int64_t local_elements(const struct sizes *sizes, int rank)
{
    ptrdiff_t elements_in, first_in, elements_out, first_out;
    const ptrdiff_t needed = fftw_mpi_local_size_1d(sizes->width, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE,
                                                    &elements_in, &first_in, &elements_out, &first_out);
    int uneven = elements_in != sizes->square || elements_out != sizes->square || first_in != rank * sizes->square ||
                 first_out != rank * sizes->square;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &uneven, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (uneven)
        fail_together("FFTW does not give each of %td processes the same part of a row of %td elements; choose another "
                      "--input or number of processes",
                      (ptrdiff_t)sizes->processes, (ptrdiff_t)sizes->width);
    return needed > sizes->square ? needed : sizes->square;
}

static double complex *elements(int64_t bytes)
{
    return (double complex *)(void *)buffer_allocate((size_t)bytes);
}

struct transform transform_prepare(const struct sizes *sizes, int rank, const struct storage *storage,
                                   int64_t exchange_bytes)
{
    struct transform t = {.rank = rank, .sizes = *sizes, .storage = *storage};
    const int64_t square_row_bytes = sizes->square * ELEMENT_BYTES;
    t.exchange_rows = exchange_bytes / square_row_bytes;
    t.exchange_rows = t.exchange_rows < 1 ? 1 : t.exchange_rows > sizes->square ? sizes->square : t.exchange_rows;
    t.exchange_bytes = sizes->processes > 1 ? t.exchange_rows * square_row_bytes : square_row_bytes;
    t.row_bytes = local_elements(sizes, rank) * ELEMENT_BYTES;
    t.mini_bytes = sizes->square * ELEMENT_BYTES;
    t.row = elements(t.row_bytes);
    t.other = elements(t.row_bytes);
    t.mini[0] = elements(t.mini_bytes);
    t.mini[1] = elements(t.mini_bytes);
    t.exchange = elements(t.exchange_bytes);
    return t;
}

void transform_free(struct transform *t)
{
    buffer_free((char *)t->row, (size_t)t->row_bytes);
    buffer_free((char *)t->other, (size_t)t->row_bytes);
    buffer_free((char *)t->mini[0], (size_t)t->mini_bytes);
    buffer_free((char *)t->mini[1], (size_t)t->mini_bytes);
    buffer_free((char *)t->exchange, (size_t)t->exchange_bytes);
}
