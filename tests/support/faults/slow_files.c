/* SPDX-License-Identifier: Apache-2.0 */
/* Between a load of files and the operating system (loaded with LD_PRELOAD): each write to a file under test takes
 * SLOW_FILES_SECONDS longer. What happens to the file of a process is noted in SLOW_FILES_NOTES/<process number>, a
 * line each: "open", or "write BYTES" or "read BYTES" with the time of its end by CLOCK_MONOTONIC; "sync" before what
 * was written is synced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int under_test(int file)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/b_eff") && strstr(path, "/load-");
}

static void note(const char *what, long bytes)
{
    char path[4096];
    struct timespec now;
    snprintf(path, sizeof path, "%s/%d", getenv("SLOW_FILES_NOTES"), (int)getpid());
    FILE *notes = fopen(path, "a");
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(notes, "%s %ld %.9f\n", what, bytes, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    fclose(notes);
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    *(void **)&next = dlsym(RTLD_NEXT, "open");
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int file = next(path, flags, mode);
    if ((flags & O_ACCMODE) == O_RDWR && under_test(file))
        note("open", 0);
    return file;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t at)
{
    ssize_t (*next)(int, const void *, size_t, off_t);
    *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
    const int slow = under_test(file);
    const double seconds = slow ? atof(getenv("SLOW_FILES_SECONDS")) : 0;
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (time_t)seconds))},
              NULL);
    const ssize_t done = next(file, data, bytes, at);
    if (slow)
        note("write", done);
    return done;
}

ssize_t pread(int file, void *data, size_t bytes, off_t at)
{
    ssize_t (*next)(int, void *, size_t, off_t);
    *(void **)&next = dlsym(RTLD_NEXT, "pread");
    const ssize_t done = next(file, data, bytes, at);
    if (under_test(file))
        note("read", done);
    return done;
}

int fsync(int file)
{
    int (*next)(int);
    *(void **)&next = dlsym(RTLD_NEXT, "fsync");
    if (under_test(file))
        note("sync", 0);
    return next(file);
}
