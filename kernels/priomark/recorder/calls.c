/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a call: when it began, how long it took, what it moved. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { PART_TEXT = 48 }; /* characters that a part of a vector may take */

static struct timespec clock_start;
static atomic_int threads;
static _Thread_local int thread; /* 1, 2, 3, ... in the order of their first call; 0: none yet */

void trace_clock_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &clock_start);
}

struct call call_begin_open(void)
{
    struct call call = {NO_HANDLE, {0}};
    clock_gettime(CLOCK_MONOTONIC, &call.begin);
    return call;
}

struct call call_begin(int descriptor)
{
    const int error = errno;
    struct call call = {recording() ? handle_of(descriptor) : NO_HANDLE, {0}};
    if (call.handle)
        clock_gettime(CLOCK_MONOTONIC, &call.begin);
    errno = error;
    return call;
}

/* The handle is given up before the descriptor is: from then on another thread may get the same number. */
struct call call_begin_close(int descriptor)
{
    struct call call = call_begin_open();
    call.handle = recording() ? handle_forget(descriptor) : NO_HANDLE;
    return call;
}

static int64_t nanoseconds(const struct timespec *from, const struct timespec *to)
{
    return (int64_t)(to->tv_sec - from->tv_sec) * 1000000000 + to->tv_nsec - from->tv_nsec;
}

void call_line(struct line *line, const struct call *call, const char *operation, size_t more_bytes)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!thread)
        thread = atomic_fetch_add(&threads, 1) + 1;
    line_begin(line, more_bytes);
    line_text(line, "at");
    line_number(line, nanoseconds(&clock_start, &call->begin));
    line_number(line, nanoseconds(&call->begin, &now));
    line_number(line, thread);
    line_text(line, " ");
    line_text(line, operation);
}

/* The offset of the call: the file pointer minus the bytes transferred. The pointer is read from the kernel, because
 * other processes may share it and O_APPEND moves it. */
static off_t offset_before(int descriptor, ssize_t result)
{
    return syscall(SYS_lseek, descriptor, 0L, SEEK_CUR) - result;
}

static void note_numbers(const struct call *call, const char *operation, const int64_t number[], int numbers)
{
    struct line line;
    call_line(&line, call, operation, 0);
    line_number(&line, call->handle);
    for (int i = 0; i < numbers; i++)
        line_number(&line, number[i]);
    line_end(&line);
}

int call_done(const struct call *call, const char *operation, int result)
{
    if (call->handle && result == 0)
        note_numbers(call, operation, NULL, 0);
    return result;
}

void call_done_number(const struct call *call, const char *operation, int64_t number)
{
    if (call->handle)
        note_numbers(call, operation, &number, 1);
}

int call_done_allocation(const struct call *call, int mode, off_t offset, off_t bytes, int result)
{
    if (call->handle && result == 0)
        note_numbers(call, "fallocate", (const int64_t[]){mode, offset, bytes}, 3);
    return result;
}

ssize_t call_done_transfer(const struct call *call, const char *operation, int descriptor, off_t offset, size_t bytes,
                           ssize_t result)
{
    if (call->handle && result >= 0) {
        struct line line;
        call_line(&line, call, operation, 0);
        line_number(&line, call->handle);
        line_number(&line, offset == AT_POINTER ? offset_before(descriptor, result) : offset);
        line_number(&line, (int64_t)bytes);
        line_number(&line, result);
        line_end(&line);
    }
    return result;
}

ssize_t call_done_vector(const struct call *call, const char *operation, int descriptor, off_t offset,
                         const struct iovec *part, int parts, ssize_t result)
{
    if (call->handle && result >= 0) {
        struct line line;
        call_line(&line, call, operation, (size_t)parts * PART_TEXT);
        line_number(&line, call->handle);
        line_number(&line, offset == AT_POINTER ? offset_before(descriptor, result) : offset);
        line_number(&line, result);
        for (int i = 0; i < parts; i++)
            line_number(&line, (int64_t)part[i].iov_len);
        line_end(&line);
    }
    return result;
}

void call_done_flags(const struct call *call, int flags)
{
    if (call->handle) {
        struct line line;
        call_line(&line, call, "flags", 0);
        line_number(&line, call->handle);
        line_flags(&line, flags);
        line_end(&line);
    }
}

/* From one file to another: offsets in memory have been advanced by the copied bytes, like file pointers. If only one
 * of the two is recorded, the copy is counted. */
void call_done_copy(const struct call *from, const struct call *to, const char *operation, const int descriptor[2],
                    const off_t *const offset[2], size_t bytes, ssize_t result)
{
    if (from->handle && to->handle && result >= 0) {
        const struct call *const side[2] = {from, to};
        struct line line;
        call_line(&line, from, operation, 0);
        for (int i = 0; i < 2; i++) {
            line_number(&line, side[i]->handle);
            line_text(&line, offset[i] ? " at" : " pointer");
            line_number(&line, offset[i] ? *offset[i] - result : offset_before(descriptor[i], result));
        }
        line_number(&line, (int64_t)bytes);
        line_number(&line, result);
        line_end(&line);
    } else if (result > 0 && !from->handle != !to->handle) {
        call_unseen("copy", NULL);
    }
}

off_t call_done_seek(const struct call *call, off_t offset, int whence, off_t result)
{
    static const char *const names[] = {[SEEK_SET] = " SEEK_SET",
                                        [SEEK_CUR] = " SEEK_CUR",
                                        [SEEK_END] = " SEEK_END",
                                        [SEEK_DATA] = " SEEK_DATA",
                                        [SEEK_HOLE] = " SEEK_HOLE"};
    if (call->handle && result >= 0 && whence >= 0 && whence <= SEEK_HOLE) {
        struct line line;
        call_line(&line, call, "lseek", 0);
        line_number(&line, call->handle);
        line_number(&line, offset);
        line_text(&line, names[whence]);
        line_number(&line, result);
        line_end(&line);
    }
    return result;
}
