/* SPDX-License-Identifier: Apache-2.0 */
/* Between ftio and the libraries it stands on (loaded with LD_PRELOAD), on rank FAULT_RANK: the faults of
 * positioned_io.h, the sign of the first element turned, or written one element further on; and of other calls
 *
 * FAULT_KIND       no_exchange, swapped_halves  between ranks 0 and 1
 *                  wrong_sign                   the transform goes backward
 *
 * MODEL_BANDWIDTH  besides the real time, every access takes the time of so many byte/s, without waiting for it
 * MODEL_SLOW_RANK  on this rank twice as long
 *
 * PERF_TASK_CLOCK  perf events of the processor become the system's task clock, which every machine has: nanoseconds
 * that the process used instead of cycles
 *
 * WAIT_LONGER_NS   a nanosleep takes no time, and this much longer while an event counts, by CLOCK_MONOTONIC */
#define _GNU_SOURCE
#include <fftw3-mpi.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

static int on_chosen_rank(void);
static void spend(size_t bytes);

#define UNDER_TEST "/strip-"
#define MISPLACED_BYTES 16
#define FLIPPED_BYTE (sizeof(double) - 1)
#define FLIPPED_BITS 0x80
#define STRIKES_HERE on_chosen_rank()
#define ACCESSED(bytes) spend(bytes)
#include "positioned_io.h"

static int on_chosen_rank(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == (int)number("FAULT_RANK");
}

static double model_seconds;

static void spend(size_t bytes)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (getenv("MODEL_BANDWIDTH"))
        model_seconds += (getenv("MODEL_SLOW_RANK") && rank == number("MODEL_SLOW_RANK") ? 2 : 1) * (double)bytes /
                         (double)number("MODEL_BANDWIDTH");
}

double MPI_Wtime(void)
{
    return PMPI_Wtime() + model_seconds;
}

/* The model's time of all processes is that of the last one. */
int MPI_Barrier(MPI_Comm comm)
{
    return PMPI_Allreduce(MPI_IN_PLACE, &model_seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
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

static bool counting;
static long made_up_nanoseconds;

int ioctl(int file, unsigned long request, ...)
{
    int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
        counting = request == PERF_EVENT_IOC_ENABLE;
    return real(file, request, argument);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    typedef int (*sleeper)(const struct timespec *, struct timespec *);
    if (!getenv("WAIT_LONGER_NS"))
        return ((sleeper)dlsym(RTLD_NEXT, "nanosleep"))(time, left);
    made_up_nanoseconds += counting ? number("WAIT_LONGER_NS") : 0;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    typedef int (*clock_function)(clockid_t, struct timespec *);
    static clock_function real;
    if (!real)
        real = (clock_function)dlsym(RTLD_NEXT, "clock_gettime");
    const int code = real(clock, time);
    if (code == 0 && clock == CLOCK_MONOTONIC) {
        const long nanoseconds = time->tv_nsec + made_up_nanoseconds;
        time->tv_sec += nanoseconds / 1000000000;
        time->tv_nsec = nanoseconds % 1000000000;
    }
    return code;
}
