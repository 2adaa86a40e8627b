/* SPDX-License-Identifier: Apache-2.0 */
/* Access to recorded files by other ways than calls that move data: it is not recorded, but counted, so that the score
 * of a replay names it. See recorder.h. */
#include "recorder.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

void call_unseen(const char *kind, const char *text)
{
    struct line line;
    line_begin(&line, text ? LONGEST_PATH : 0);
    line_text(&line, "unseen ");
    line_text(&line, kind);
    if (text)
        line_escaped(&line, text);
    if (recording())
        line_end(&line);
    else
        line_end_shared(&line);
}

static void note(const char *kind, int descriptor)
{
    const int error = errno;
    if (recording() && handle_of(descriptor) != NO_HANDLE)
        call_unseen(kind, NULL);
    errno = error;
}

/* Not through libc, because memory allocators call this before anything else is initialised. */
RECORDER_EXPORT void *mmap(void *place, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    void *const memory =
        (void *)next_syscall(SYS_mmap, (long)place, (long)bytes, protection, flags, descriptor, offset);
    if (memory != MAP_FAILED && !(flags & MAP_ANONYMOUS))
        note("mmap", descriptor);
    return memory;
}
void *mmap64(void *place, size_t bytes, int protection, int flags, int descriptor, off_t offset) RECORDER_ALIAS(mmap);

/* --- asynchronous I/O --------------------------------------------------------------------------------------------- */

RECORDER_EXPORT int aio_read(struct aiocb *request)
{
    const int result = next_calls()->aio_read(request);
    note("aio", request->aio_fildes);
    return result;
}
RECORDER_EXPORT int aio_write(struct aiocb *request)
{
    const int result = next_calls()->aio_write(request);
    note("aio", request->aio_fildes);
    return result;
}

RECORDER_EXPORT int lio_listio(int mode, struct aiocb *const request[], int requests, struct sigevent *event)
{
    const int result = next_calls()->lio_listio(mode, request, requests, event);
    for (int i = 0; i < requests; i++)
        if (request[i] && request[i]->aio_lio_opcode != LIO_NOP)
            note("aio", request[i]->aio_fildes);
    return result;
}
/* With 64-bit offsets both structures are the same, but their types have different names. */
int recorder_aio_read64(struct aiocb *request) __asm__("aio_read64") RECORDER_ALIAS(aio_read);
int recorder_aio_write64(struct aiocb *request) __asm__("aio_write64") RECORDER_ALIAS(aio_write);
int recorder_lio_listio64(int mode, struct aiocb *const request[], int requests,
                          struct sigevent *event) __asm__("lio_listio64") RECORDER_ALIAS(lio_listio);

/* The requests of a ring are not visible, its creation is: through liburing, one of whose functions calls the other, or
 * through syscall(). */
static _Thread_local int rings;

static int note_ring(int result)
{
    if (--rings == 0 && result >= 0 && recording())
        call_unseen("io_uring", NULL);
    return result;
}

RECORDER_EXPORT int io_uring_queue_init(unsigned entries, void *ring, unsigned flags)
{
    int (*next)(unsigned, void *, unsigned);
    *(void **)&next = dlsym(RTLD_NEXT, "io_uring_queue_init");
    rings++;
    return note_ring(next ? next(entries, ring, flags) : -ENOSYS);
}

RECORDER_EXPORT int io_uring_queue_init_params(unsigned entries, void *ring, void *parameters)
{
    int (*next)(unsigned, void *, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "io_uring_queue_init_params");
    rings++;
    return note_ring(next ? next(entries, ring, parameters) : -ENOSYS);
}

RECORDER_EXPORT long syscall(long number, ...)
{
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(arguments, long);
    va_end(arguments);
    rings += number == SYS_io_uring_setup;
    const long result =
        next_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (number == SYS_io_uring_setup)
        note_ring((int)result);
    return result;
}

/* --- between a file and something else ---------------------------------------------------------------------------- */

RECORDER_EXPORT ssize_t splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes, unsigned flags)
{
    const ssize_t result = next_calls()->splice(from, from_offset, to, to_offset, bytes, flags);
    if (result > 0) {
        note("splice", from);
        note("splice", to);
    }
    return result;
}
