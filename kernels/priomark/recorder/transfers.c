/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that move data and what goes with them. See recorder.h. */
#include "recorder.h"

RECORDER_EXPORT ssize_t read(int descriptor, void *data, size_t bytes)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "read", descriptor, AT_POINTER, bytes,
                              next_calls()->read(descriptor, data, bytes));
}

RECORDER_EXPORT ssize_t write(int descriptor, const void *data, size_t bytes)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "write", descriptor, AT_POINTER, bytes,
                              next_calls()->write(descriptor, data, bytes));
}

RECORDER_EXPORT ssize_t pread(int descriptor, void *data, size_t bytes, off_t offset)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "pread", descriptor, offset, bytes,
                              next_calls()->pread(descriptor, data, bytes, offset));
}

RECORDER_EXPORT ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t offset)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "pwrite", descriptor, offset, bytes,
                              next_calls()->pwrite(descriptor, data, bytes, offset));
}

/* What programs call that were built with _FORTIFY_SOURCE. */
RECORDER_EXPORT ssize_t __read_chk(int descriptor, void *data, size_t bytes, size_t room)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "read", descriptor, AT_POINTER, bytes,
                              next_calls()->__read_chk(descriptor, data, bytes, room));
}

RECORDER_EXPORT ssize_t __pread_chk(int descriptor, void *data, size_t bytes, off_t offset, size_t room)
{
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "pread", descriptor, offset, bytes,
                              next_calls()->__pread_chk(descriptor, data, bytes, offset, room));
}

ssize_t __read(int descriptor, void *data, size_t bytes) RECORDER_ALIAS(read);
ssize_t __write(int descriptor, const void *data, size_t bytes) RECORDER_ALIAS(write);
ssize_t pread64(int descriptor, void *data, size_t bytes, off_t offset) RECORDER_ALIAS(pread);
ssize_t __pread64(int descriptor, void *data, size_t bytes, off_t offset) RECORDER_ALIAS(pread);
ssize_t __pread64_chk(int descriptor, void *data, size_t bytes, off_t offset, size_t room) RECORDER_ALIAS(__pread_chk);
ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off_t offset) RECORDER_ALIAS(pwrite);
ssize_t __pwrite64(int descriptor, const void *data, size_t bytes, off_t offset) RECORDER_ALIAS(pwrite);

RECORDER_EXPORT ssize_t readv(int descriptor, const struct iovec *part, int parts)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, "readv", descriptor, AT_POINTER, part, parts,
                            next_calls()->readv(descriptor, part, parts));
}

RECORDER_EXPORT ssize_t writev(int descriptor, const struct iovec *part, int parts)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, "writev", descriptor, AT_POINTER, part, parts,
                            next_calls()->writev(descriptor, part, parts));
}

RECORDER_EXPORT ssize_t preadv(int descriptor, const struct iovec *part, int parts, off_t offset)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, "preadv", descriptor, offset, part, parts,
                            next_calls()->preadv(descriptor, part, parts, offset));
}

RECORDER_EXPORT ssize_t pwritev(int descriptor, const struct iovec *part, int parts, off_t offset)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, "pwritev", descriptor, offset, part, parts,
                            next_calls()->pwritev(descriptor, part, parts, offset));
}

/* Their flags are hints to the kernel; offset -1 means the file pointer. */
RECORDER_EXPORT ssize_t preadv2(int descriptor, const struct iovec *part, int parts, off_t offset, int flags)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, offset < 0 ? "readv" : "preadv", descriptor, offset, part, parts,
                            next_calls()->preadv2(descriptor, part, parts, offset, flags));
}

RECORDER_EXPORT ssize_t pwritev2(int descriptor, const struct iovec *part, int parts, off_t offset, int flags)
{
    const struct call call = call_begin(descriptor);
    return call_done_vector(&call, offset < 0 ? "writev" : "pwritev", descriptor, offset, part, parts,
                            next_calls()->pwritev2(descriptor, part, parts, offset, flags));
}

ssize_t preadv64(int descriptor, const struct iovec *part, int parts, off_t offset) RECORDER_ALIAS(preadv);
ssize_t pwritev64(int descriptor, const struct iovec *part, int parts, off_t offset) RECORDER_ALIAS(pwritev);
ssize_t preadv64v2(int descriptor, const struct iovec *part, int parts, off_t offset, int flags)
    RECORDER_ALIAS(preadv2);
ssize_t pwritev64v2(int descriptor, const struct iovec *part, int parts, off_t offset, int flags)
    RECORDER_ALIAS(pwritev2);

RECORDER_EXPORT off_t lseek(int descriptor, off_t offset, int whence)
{
    const struct call call = call_begin(descriptor);
    return call_done_seek(&call, offset, whence, next_calls()->lseek(descriptor, offset, whence));
}
off_t lseek64(int descriptor, off_t offset, int whence) RECORDER_ALIAS(lseek);
off_t __lseek(int descriptor, off_t offset, int whence) RECORDER_ALIAS(lseek);

RECORDER_EXPORT int fsync(int descriptor)
{
    const struct call call = call_begin(descriptor);
    return call_done(&call, "fsync", next_calls()->fsync(descriptor));
}

RECORDER_EXPORT int fdatasync(int descriptor)
{
    const struct call call = call_begin(descriptor);
    return call_done(&call, "fdatasync", next_calls()->fdatasync(descriptor));
}

RECORDER_EXPORT int ftruncate(int descriptor, off_t bytes)
{
    const struct call call = call_begin(descriptor);
    const int result = next_calls()->ftruncate(descriptor, bytes);
    if (result == 0)
        call_done_number(&call, "ftruncate", bytes);
    return result;
}
int ftruncate64(int descriptor, off_t bytes) RECORDER_ALIAS(ftruncate);

RECORDER_EXPORT int fallocate(int descriptor, int mode, off_t offset, off_t bytes)
{
    const struct call call = call_begin(descriptor);
    return call_done_allocation(&call, mode, offset, bytes, next_calls()->fallocate(descriptor, mode, offset, bytes));
}

RECORDER_EXPORT int posix_fallocate(int descriptor, off_t offset, off_t bytes)
{
    const struct call call = call_begin(descriptor);
    return call_done_allocation(&call, 0, offset, bytes, next_calls()->posix_fallocate(descriptor, offset, bytes));
}
int fallocate64(int descriptor, int mode, off_t offset, off_t bytes) RECORDER_ALIAS(fallocate);
int posix_fallocate64(int descriptor, off_t offset, off_t bytes) RECORDER_ALIAS(posix_fallocate);

RECORDER_EXPORT ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes,
                                        unsigned flags)
{
    const struct call reading = call_begin(from), writing = call_begin(to);
    const ssize_t result = next_calls()->copy_file_range(from, from_offset, to, to_offset, bytes, flags);
    call_done_copy(&reading, &writing, "copy_file_range", (const int[]){from, to},
                   (const off_t *const[]){from_offset, to_offset}, bytes, result);
    return result;
}

/* From file to file; to a socket or a pipe it is counted only. */
RECORDER_EXPORT ssize_t sendfile(int to, int from, off_t *from_offset, size_t bytes)
{
    const struct call reading = call_begin(from), writing = call_begin(to);
    const ssize_t result = next_calls()->sendfile(to, from, from_offset, bytes);
    call_done_copy(&reading, &writing, "sendfile", (const int[]){from, to}, (const off_t *const[]){from_offset, NULL},
                   bytes, result);
    return result;
}
ssize_t sendfile64(int to, int from, off_t *from_offset, size_t bytes) RECORDER_ALIAS(sendfile);
