/* SPDX-License-Identifier: Apache-2.0 */
/* Between a kernel and the operating system (loaded with LD_PRELOAD on one node): every call that reads, writes or
 * syncs a file takes SLOW_IO times as long as it took. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void wait_since(double start)
{
    const double until = now() + (atof(getenv("SLOW_IO")) - 1) * (now() - start);
    while (now() < until)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static int is_file(int file)
{
    struct stat found;
    return fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

#define SLOWED(result, name, parameters, arguments)    \
    result name parameters                             \
    {                                                  \
        static result(*next) parameters;               \
        if (!next)                                     \
            *(void **)&next = dlsym(RTLD_NEXT, #name); \
        const double start = now();                    \
        const result done = next arguments;            \
        if (is_file(file))                             \
            wait_since(start);                         \
        return done;                                   \
    }

SLOWED(ssize_t, read, (int file, void *data, size_t bytes), (file, data, bytes))
SLOWED(ssize_t, write, (int file, const void *data, size_t bytes), (file, data, bytes))
SLOWED(ssize_t, pread, (int file, void *data, size_t bytes, off_t at), (file, data, bytes, at))
SLOWED(ssize_t, pwrite, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at))
SLOWED(ssize_t, pread64, (int file, void *data, size_t bytes, off64_t at), (file, data, bytes, at))
SLOWED(ssize_t, pwrite64, (int file, const void *data, size_t bytes, off64_t at), (file, data, bytes, at))
SLOWED(ssize_t, readv, (int file, const struct iovec *parts, int count), (file, parts, count))
SLOWED(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
SLOWED(ssize_t, preadv, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at))
SLOWED(ssize_t, pwritev, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at))
SLOWED(ssize_t, preadv64, (int file, const struct iovec *parts, int count, off64_t at), (file, parts, count, at))
SLOWED(ssize_t, pwritev64, (int file, const struct iovec *parts, int count, off64_t at), (file, parts, count, at))
SLOWED(int, fsync, (int file), (file))
SLOWED(int, fdatasync, (int file), (file))
