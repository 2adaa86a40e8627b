/* What ftio's parts take by themselves: the same pread and pwrite calls in the same order with nothing between them,
 * and FFTW on rows that lie in memory. Prints one line of JSON: mean seconds of the processes for each stage.
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
    char *buffer; /* as large as the largest call */
};

static void move(const struct bare *bare, bool writes, int64_t row, int64_t column, int64_t elements)
{
    const int64_t offset = (row * bare->sizes.square + column) * ELEMENT_BYTES, bytes = elements * ELEMENT_BYTES;
    const ssize_t moved = writes ? pwrite(bare->file, bare->buffer, (size_t)bytes, offset)
                                 : pread(bare->file, bare->buffer, (size_t)bytes, offset);
    if (moved != bytes)
        fail("a bare call failed");
}

static void move_mini(const struct bare *bare, bool writes, int64_t row, int64_t column)
{
    for (int64_t r = 0; r < bare->sizes.input; r++)
        move(bare, writes, row + r, column, bare->sizes.input);
}

static void initialise(const struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++)
        move(bare, true, p, 0, bare->sizes.square);
}

static void series(const struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++) {
        move(bare, false, p, 0, bare->sizes.square);
        move(bare, true, p, 0, bare->sizes.square);
    }
}

static void transpose(const struct bare *bare)
{
    const int64_t i = bare->sizes.input;
    for (int64_t top = 0; top < bare->sizes.width; top += bare->sizes.square) {
        for (int64_t a = 0; a < i; a++) {
            for (int64_t b = a; b < i; b++) {
                move_mini(bare, false, top + a * i, b * i);
                if (a != b)
                    move_mini(bare, false, top + b * i, a * i);
                move_mini(bare, true, top + b * i, a * i);
                if (a != b)
                    move_mini(bare, true, top + a * i, b * i);
            }
        }
    }
}

static void exchange(const struct bare *bare)
{
    const int64_t square = bare->sizes.square, fitting = EXCHANGE_BYTES / (square * ELEMENT_BYTES);
    const int64_t step = fitting < 1 ? 1 : fitting > square ? square : fitting;
    for (int64_t s = 0; s < bare->sizes.processes; s++) {
        for (int64_t row = 0; s != bare->rank && row < square; row += step) {
            const int64_t rows = row + step < square ? step : square - row;
            move(bare, false, s * square + row, 0, rows * square);
            move(bare, true, s * square + row, 0, rows * square);
        }
    }
}

static void verify(const struct bare *bare)
{
    for (int64_t p = 0; p < bare->sizes.width; p++)
        move(bare, false, p, 0, bare->sizes.square);
}

static double mean(double seconds)
{
    double sum;
    int ranks;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    MPI_CHECK(MPI_Allreduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return sum / ranks;
}

static double timed(const struct bare *bare, void (*stage)(const struct bare *), bool flushes)
{
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    stage(bare);
    if (flushes && fdatasync(bare->file) != 0)
        fail("a bare flush failed");
    return mean(MPI_Wtime() - start);
}

/* Two series, each row in a place of its own as in a matrix that fits into memory. */
static double transforms(const struct sizes *sizes)
{
    ptrdiff_t n[4];
    const int64_t part = fftw_mpi_local_size_1d(sizes->width, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE, &n[0], &n[1],
                                                &n[2], &n[3]);
    const size_t bytes = (size_t)(part * sizes->width * ELEMENT_BYTES);
    fftw_complex *matrix = (fftw_complex *)(void *)buffer_allocate(bytes);
    for (int64_t k = 0; k < part * sizes->width; k++)
        matrix[k] = 1;
    fftw_plan plan =
        fftw_mpi_plan_dft_1d(sizes->width, matrix, matrix, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    for (int64_t row = 0; row < 2 * sizes->width; row++) {
        fftw_complex *at = matrix + row % sizes->width * part;
        fftw_mpi_execute_dft(plan, at, at);
    }
    const double seconds = mean(MPI_Wtime() - start);
    fftw_destroy_plan(plan);
    buffer_free((char *)matrix, bytes);
    return seconds;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    char path[4096];
    MPI_CHECK(MPI_Init(&argc, &argv));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    fail_setup("bench_ftio", NULL);
    const int64_t input = argc == 3 ? atoll(argv[1]) : 0;
    if (input < SMALLEST_INPUT || next_input(input, ranks, 1) != input)
        refuse("usage: bench_ftio INPUT DIRECTORY, with a valid input parameter");
    fftw_mpi_init();

    struct bare bare = {.sizes = sizes_of(input, ranks), .rank = rank};
    const size_t bytes = EXCHANGE_BYTES + (size_t)(bare.sizes.square * ELEMENT_BYTES);
    bare.buffer = buffer_allocate(bytes);
    snprintf(path, sizeof path, "%s/bare-%06d", argv[2], rank);
    bare.file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (bare.file < 0)
        fail("cannot create '%s'", path);
    const double seconds[] = {timed(&bare, initialise, true), timed(&bare, series, true),
                              timed(&bare, transpose, true),  timed(&bare, exchange, true),
                              timed(&bare, series, true),     timed(&bare, verify, false)};
    close(bare.file);
    unlink(path);
    const double fft = transforms(&bare.sizes);
    if (rank == 0)
        printf("{\"initialise\": %.9f, \"series_1\": %.9f, \"transpose\": %.9f, \"exchange\": %.9f, "
               "\"series_2\": %.9f, \"verify\": %.9f, \"fft\": %.9f}\n",
               seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], seconds[5], fft);
    buffer_free(bare.buffer, bytes);
    MPI_CHECK(MPI_Finalize());
    return 0;
}
