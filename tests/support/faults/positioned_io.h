/* SPDX-License-Identifier: Apache-2.0 */
/* One fault in a chosen pread or pwrite on the files under test, for the libraries beside this file.
 *
 * FAULT_KIND     flip_read, flip_write   bits of the data are turned
 *                lost_write              nothing is written, success is reported
 *                misplaced_write         written a little further on
 *                full_write, broken_read fails with ENOSPC, EIO
 *                short, interrupted      every call moves half of what it was asked for, every second one is
 * interrupted first: allowed, the result must be right all the same FAULT_NUMBER   how many reads or writes are left
 * alone before
 *
 * Who includes it defines UNDER_TEST (a part of the paths), MISPLACED_BYTES, FLIPPED_BYTE, FLIPPED_BITS, and
 * STRIKES_HERE: whether a fault is this process's; and perhaps ACCESSED(bytes), what follows from an access. */
#ifndef ACCESSED
#define ACCESSED(bytes)
#endif

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int under_test(int file)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, UNDER_TEST);
}

static int strikes(const char *kind, long calls)
{
    return kind_is(kind) && calls == number("FAULT_NUMBER") && STRIKES_HERE;
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
    ACCESSED(bytes);
    if (interrupted(call))
        return -1;
    if (strikes("broken_read", call)) {
        errno = EIO;
        return -1;
    }
    const ssize_t count = next(file, data, shortened(bytes), offset);
    if (strikes("flip_read", call) && count > 0)
        ((unsigned char *)data)[FLIPPED_BYTE] ^= FLIPPED_BITS;
    return count;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    const write_function next = (write_function)dlsym(RTLD_NEXT, "pwrite");
    if (!under_test(file))
        return next(file, data, bytes, offset);
    const long call = writes++;
    ACCESSED(bytes);
    if (interrupted(call))
        return -1;
    if (strikes("lost_write", call))
        return (ssize_t)bytes;
    if (strikes("full_write", call)) {
        errno = ENOSPC;
        return -1;
    }
    if (strikes("misplaced_write", call))
        return next(file, data, bytes, offset + MISPLACED_BYTES);
    if (strikes("flip_write", call))
        ((unsigned char *)(void *)(size_t)data)[FLIPPED_BYTE] ^= FLIPPED_BITS;
    return next(file, data, shortened(bytes), offset);
}
