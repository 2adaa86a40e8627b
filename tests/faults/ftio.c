/* Between ftio and the libraries it stands on (loaded with LD_PRELOAD): one fault in a chosen call on rank FAULT_RANK.
 *
 * FAULT_KIND     of a call on the files under test:
 *                  flip_read, flip_write   the sign of the first element is turned
 *                  lost_write              nothing is written, success is reported
 *                  misplaced_write         written one element further on
 *                  full_write, broken_read fails with ENOSPC, EIO
 *                  short, interrupted      every call moves half of what it was asked for, every second one is
 *                                          interrupted first: allowed, the result must be right all the same
 *                of others:
 *                  no_exchange, swapped_halves  between ranks 0 and 1
 *                  wrong_sign              the transform goes backward
 * FAULT_NUMBER   how many such calls are left alone before
 *
 * PERF_TASK_CLOCK  perf events of the processor become the system's task clock, which every machine has: nanoseconds that the
 *                  process used instead of cycles */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fftw3-mpi.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ELEMENT_BYTES = 16 };

typedef ssize_t (*read_function)(int, void *, size_t, off_t);
typedef ssize_t (*write_function)(int, const void *, size_t, off_t);

static long reads, writes;

static int kind_is(const char *kind)
{
    const char *chosen = getenv("FAULT_KIND");
    return chosen && strcmp(chosen, kind) == 0;
}

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int on_chosen_rank(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == (int)number("FAULT_RANK");
}

static int under_test(int file)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/strip-");
}

static int strikes(const char *kind, long calls)
{
    return kind_is(kind) && calls == number("FAULT_NUMBER") && on_chosen_rank();
}

static int interrupted(long calls)
{
    errno = EINTR;
    return kind_is("interrupted") && calls % 2 == 0;
}

static size_t shortened(size_t bytes)
{
    return (kind_is("short") || kind_is("interrupted")) && bytes > 1 ? bytes / 2 : bytes;
}

ssize_t pread(int file, void *data, size_t bytes, off_t offset)
{
    const read_function next = (read_function)dlsym(RTLD_NEXT, "pread");
    if (!under_test(file))
        return next(file, data, bytes, offset);
    const long call = reads++;
    if (interrupted(call))
        return -1;
    if (strikes("broken_read", call)) {
        errno = EIO;
        return -1;
    }
    const ssize_t count = next(file, data, shortened(bytes), offset);
    if (strikes("flip_read", call))
        ((unsigned char *)data)[sizeof(double) - 1] ^= 0x80;
    return count;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    const write_function next = (write_function)dlsym(RTLD_NEXT, "pwrite");
    if (!under_test(file))
        return next(file, data, bytes, offset);
    const long call = writes++;
    if (interrupted(call))
        return -1;
    if (strikes("lost_write", call))
        return (ssize_t)bytes;
    if (strikes("full_write", call)) {
        errno = ENOSPC;
        return -1;
    }
    if (strikes("misplaced_write", call))
        return next(file, data, bytes, offset + ELEMENT_BYTES);
    if (strikes("flip_write", call))
        ((unsigned char *)(void *)(size_t)data)[sizeof(double) - 1] ^= 0x80;
    return next(file, data, shortened(bytes), offset);
}

int MPI_Sendrecv_replace(void *data, int count, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
                         MPI_Comm comm, MPI_Status *status)
{
    int rank, bytes;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &bytes);
    const int struck = rank + to == 1;
    if (struck && kind_is("no_exchange"))
        return MPI_SUCCESS;
    const int code = PMPI_Sendrecv_replace(data, count, type, to, send_tag, from, receive_tag, comm, status);
    if (struck && kind_is("swapped_halves")) {
        const size_t half = (size_t)count * (size_t)bytes / 2;
        char *copy = malloc(half);
        memcpy(copy, data, half);
        memcpy(data, (char *)data + half, half);
        memcpy((char *)data + half, copy, half);
        free(copy);
    }
    return code;
}

fftw_plan fftw_mpi_plan_dft_1d(ptrdiff_t n, fftw_complex *in, fftw_complex *out, MPI_Comm comm, int sign,
                               unsigned flags)
{
    typedef fftw_plan (*plan_function)(ptrdiff_t, fftw_complex *, fftw_complex *, MPI_Comm, int, unsigned);
    const plan_function next = (plan_function)dlsym(RTLD_NEXT, "fftw_mpi_plan_dft_1d");
    return next(n, in, out, comm, kind_is("wrong_sign") ? -sign : sign, flags);
}

long syscall(long call, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list list;
    long a[6];
    va_start(list, call);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (call == SYS_perf_event_open && getenv("PERF_TASK_CLOCK")) {
        struct perf_event_attr *attributes = (struct perf_event_attr *)a[0];
        attributes->type = PERF_TYPE_SOFTWARE;
        attributes->config = PERF_COUNT_SW_TASK_CLOCK;
        attributes->exclude_kernel = 0;
    }
    return real(call, a[0], a[1], a[2], a[3], a[4], a[5]);
}
