/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of ftio in the same order with nothing between them: pread, pwrite, fdatasync, and FFTW's transform of each
 * row that was read. Prints one line of JSON: mean seconds of the processes for the I/O of each stage, and for all
 * transforms.
 *
 * mpirun -n PROCESSES bench_ftio INPUT DIRECTORY */
#include <complex.h>
#include <fcntl.h>
#include <fftw3-mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "sizes.h"

enum { EXCHANGE_BYTES = 4 << 20 };

struct bare {
    struct sizes sizes;
    int rank, file;
    char *buffer; /* as large as the largest call, and as two Mini-Squares */
    fftw_plan plan;
    double fft_seconds;
};

static void move(const struct bare *bare, bool writes, int64_t row, int64_t column, int64_t elements, char *data)
{
    const int64_t offset = (row * bare->sizes.square + column) * ELEMENT_BYTES, bytes = elements * ELEMENT_BYTES;
    const ssize_t moved =
        writes ? pwrite(bare->file, data, (size_t)bytes, offset) : pread(bare->file, data, (size_t)bytes, offset);
    if (moved != bytes)
        fail("a bare call failed");
}

static void move_row(const struct bare *bare, bool writes, int64_t row)
{
    move(bare, writes, row, 0, bare->sizes.square, bare->buffer);
}

static void move_mini(const struct bare *bare, bool writes, int64_t row, int64_t column, int mini)
{
    const int64_t i = bare->sizes.input, mini_bytes = i * i * ELEMENT_BYTES;
    for (int64_t r = 0; r < i; r++)
        move(bare, writes, row + r, column, i, bare->buffer + mini * mini_bytes + r * i * ELEMENT_BYTES);
}

static void initialise(struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++)
        move_row(bare, true, p);
}

static void series(struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++) {
        move_row(bare, false, p);
        const double start = MPI_Wtime();
        fftw_execute(bare->plan);
        bare->fft_seconds += MPI_Wtime() - start;
        move_row(bare, true, p);
    }
}

static void transpose(struct bare *bare)
{
    const int64_t i = bare->sizes.input;
    for (int64_t top = 0; top < bare->sizes.width; top += bare->sizes.square) {
        for (int64_t a = 0; a < i; a++) {
            for (int64_t b = a; b < i; b++) {
                move_mini(bare, false, top + a * i, b * i, 0);
                if (a != b)
                    move_mini(bare, false, top + b * i, a * i, 1);
                move_mini(bare, true, top + b * i, a * i, 0);
                if (a != b)
                    move_mini(bare, true, top + a * i, b * i, 1);
            }
        }
    }
}

static void exchange(struct bare *bare)
{
    const int64_t square = bare->sizes.square, fitting = EXCHANGE_BYTES / (square * ELEMENT_BYTES);
    const int64_t step = fitting < 1 ? 1 : fitting > square ? square : fitting;
    for (int64_t s = 0; s < bare->sizes.processes; s++) {
        for (int64_t row = 0; s != bare->rank && row < square; row += step) {
            const int64_t rows = row + step < square ? step : square - row;
            move(bare, false, s * square + row, 0, rows * square, bare->buffer);
            move(bare, true, s * square + row, 0, rows * square, bare->buffer);
        }
    }
}

static void verify(struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++)
        move_row(bare, false, p);
}

static double mean(double seconds)
{
    double sum;
    int ranks;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    MPI_CHECK(MPI_Allreduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return sum / ranks;
}

/* I/O alone. */
static double timed(struct bare *bare, void (*stage)(struct bare *), bool flushes)
{
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime(), fft_before = bare->fft_seconds;
    stage(bare);
    if (flushes && fdatasync(bare->file) != 0)
        fail("a bare flush failed");
    return mean(MPI_Wtime() - start - (bare->fft_seconds - fft_before));
}

/* The plan of ftio: a row in the buffer, in place. */
static fftw_plan plan_row(const struct sizes *sizes, char *buffer)
{
    fftw_complex *row = (fftw_complex *)(void *)buffer;
    for (int64_t k = 0; k < sizes->square; k++)
        row[k] = 1;
    return fftw_mpi_plan_dft_1d(sizes->width, row, row, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    char path[4096];
    MPI_CHECK(MPI_Init(&argc, &argv));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    fail_setup("bench_ftio");
    const int64_t input = argc == 3 ? atoll(argv[1]) : 0;
    if (input < SMALLEST_INPUT || next_input(input, ranks, 1) != input)
        refuse("usage: bench_ftio INPUT DIRECTORY, with a valid input parameter");
    fftw_mpi_init();

    struct bare bare = {.sizes = sizes_of(input, ranks), .rank = rank};
    const size_t bytes = EXCHANGE_BYTES + 2 * (size_t)(bare.sizes.square * ELEMENT_BYTES);
    bare.buffer = buffer_allocate(bytes);
    bare.plan = plan_row(&bare.sizes, bare.buffer);
    snprintf(path, sizeof path, "%s/bare-%06d", argv[2], rank);
    bare.file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (bare.file < 0)
        fail("cannot create '%s'", path);
    const double seconds[] = {timed(&bare, initialise, true), timed(&bare, series, true), timed(&bare, transpose, true),
                              timed(&bare, exchange, true),   timed(&bare, series, true), timed(&bare, verify, false)};
    close(bare.file);
    unlink(path);
    const double transforms = mean(bare.fft_seconds);
    if (rank == 0)
        printf("{\"initialise\": %.9f, \"series_1\": %.9f, \"transpose\": %.9f, \"exchange\": %.9f, "
               "\"series_2\": %.9f, \"verify\": %.9f, \"transforms\": %.9f}\n",
               seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], seconds[5], transforms);
    fftw_destroy_plan(bare.plan);
    buffer_free(bare.buffer, bytes);
    MPI_CHECK(MPI_Finalize());
    return 0;
}
