/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that make, copy and give up descriptors. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <stdarg.h>

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

RECORDER_EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    const struct call call = call_begin_open();
    return handle_open(&call, next_calls()->open(path, flags, mode), flags);
}

RECORDER_EXPORT int openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    const struct call call = call_begin_open();
    return handle_open(&call, next_calls()->openat(directory, path, flags, mode), flags);
}

RECORDER_EXPORT int creat(const char *path, mode_t mode)
{
    const struct call call = call_begin_open();
    return handle_open(&call, next_calls()->creat(path, mode), O_CREAT | O_WRONLY | O_TRUNC);
}

/* What programs call that were built with _FORTIFY_SOURCE. */
RECORDER_EXPORT int __open_2(const char *path, int flags)
{
    const struct call call = call_begin_open();
    return handle_open(&call, next_calls()->__open_2(path, flags), flags);
}

RECORDER_EXPORT int __openat_2(int directory, const char *path, int flags)
{
    const struct call call = call_begin_open();
    return handle_open(&call, next_calls()->__openat_2(directory, path, flags), flags);
}

int open64(const char *path, int flags, ...) RECORDER_ALIAS(open);
int __open(const char *path, int flags, ...) RECORDER_ALIAS(open);
int __open64(const char *path, int flags, ...) RECORDER_ALIAS(open);
int openat64(int directory, const char *path, int flags, ...) RECORDER_ALIAS(openat);
int creat64(const char *path, mode_t mode) RECORDER_ALIAS(creat);
int __open64_2(const char *path, int flags) RECORDER_ALIAS(__open_2);
int __openat64_2(int directory, const char *path, int flags) RECORDER_ALIAS(__openat_2);

/* fopen() opens inside libc, where preloaded functions are not called; streams.c records the calls of its stream. */
static void note_stream(const struct call *call, FILE *stream, const char *mode)
{
    const int error = errno, descriptor = stream ? fileno(stream) : -1;
    if (descriptor >= 0) {
        const int created = *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT : 0;
        handle_open(call, descriptor, (next_calls()->fcntl(descriptor, F_GETFL) & ~O_CREAT) | created);
    }
    streams_opened(descriptor);
    errno = error;
}

RECORDER_EXPORT FILE *fopen(const char *path, const char *mode)
{
    const struct call call = call_begin_open();
    streams_opening();
    FILE *stream = next_calls()->fopen(path, mode);
    note_stream(&call, stream, mode);
    return stream;
}

FILE *fopen64(const char *path, const char *mode) RECORDER_ALIAS(fopen);

/* --- closing ------------------------------------------------------------------------------------------------------ */

RECORDER_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    if (!path) /* another mode for the same file */
        return next_calls()->freopen(path, mode, stream);
    const int error = errno, before = fileno(stream);
    errno = error;
    const struct call closed = call_begin_close(before), call = call_begin_open();
    streams_opening();
    FILE *opened = next_calls()->freopen(path, mode, stream);
    call_done(&closed, "close", 0);
    note_stream(&call, opened, mode);
    return opened;
}
FILE *freopen64(const char *path, const char *mode, FILE *stream) RECORDER_ALIAS(freopen);

static bool is_own(int descriptor)
{
    return descriptor >= 0 && descriptor == trace_descriptor() && recording();
}

RECORDER_EXPORT int close(int descriptor)
{
    if (is_own(descriptor)) { /* programs that close all numbers there are */
        errno = EBADF;
        return -1;
    }
    const struct call call = call_begin_close(descriptor);
    return call_done(&call, "close", next_calls()->close(descriptor));
}
int __close(int descriptor) RECORDER_ALIAS(close);

static int close_piece(unsigned first, unsigned last, int flags)
{
    return first > last ? 0 : next_calls()->close_range(first, last, flags);
}

RECORDER_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (!next_calls()->close_range) {
        errno = ENOSYS;
        return -1;
    }
    if (flags || first > last || !recording()) /* marked for exec, where our own is anyway */
        return next_calls()->close_range(first, last, flags);
    for (unsigned d = first; d <= last && (int)d <= handle_highest(); d++) {
        const struct call call = call_begin_close((int)d);
        call_done(&call, "close", 0);
    }
    const unsigned own = (unsigned)trace_descriptor();
    if (own < first || own > last)
        return close_piece(first, last, flags);
    const int below = own == 0 ? 0 : close_piece(first, own - 1, flags);
    const int above = own == UINT_MAX ? 0 : close_piece(own + 1, last, flags);
    return below ? below : above;
}

RECORDER_EXPORT void closefrom(int lowest)
{
    if (close_range(lowest < 0 ? 0 : (unsigned)lowest, UINT_MAX, 0) != 0 && next_calls()->closefrom)
        next_calls()->closefrom(lowest); /* an old kernel: the recording ends here */
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static void note_copy(const struct call *call, int copy)
{
    if (copy >= 0 && recording()) {
        handle_forget(copy);
        if (call->handle)
            call_done_number(call, "dup", handle_copy(copy));
    }
}

RECORDER_EXPORT int dup(int descriptor)
{
    const struct call call = call_begin(descriptor);
    const int copy = next_calls()->dup(descriptor);
    note_copy(&call, copy);
    return copy;
}

/* The call closes the file at the new number; the trace's own descriptor is moved first. */
static struct call replaced(int descriptor, int onto)
{
    if (is_own(onto))
        trace_move_descriptor();
    struct call none = {NO_HANDLE, {0}};
    return descriptor == onto ? none : call_begin_close(onto);
}

RECORDER_EXPORT int dup2(int descriptor, int onto)
{
    const struct call call = call_begin(descriptor), closed = replaced(descriptor, onto);
    const int copy = next_calls()->dup2(descriptor, onto);
    call_done(&closed, "close", 0);
    if (descriptor != onto)
        note_copy(&call, copy);
    return copy;
}

RECORDER_EXPORT int dup3(int descriptor, int onto, int flags)
{
    const struct call call = call_begin(descriptor), closed = replaced(descriptor, onto);
    const int copy = next_calls()->dup3(descriptor, onto, flags);
    call_done(&closed, "close", 0);
    note_copy(&call, copy);
    return copy;
}

RECORDER_EXPORT int fcntl(int descriptor, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command != F_DUPFD && command != F_DUPFD_CLOEXEC && command != F_SETFL)
        return next_calls()->fcntl(descriptor, command, argument);
    const struct call call = call_begin(descriptor);
    const int result = next_calls()->fcntl(descriptor, command, argument);
    if (command != F_SETFL)
        note_copy(&call, result);
    else if (result >= 0 && call.handle)
        call_done_flags(&call, next_calls()->fcntl(descriptor, F_GETFL));
    return result;
}
int fcntl64(int descriptor, int command, ...) RECORDER_ALIAS(fcntl);
