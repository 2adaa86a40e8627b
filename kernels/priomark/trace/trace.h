/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded program's requests, as trace_read.h returns them and trace_replay.h repeats them. */
#ifndef PRIOMARK_TRACE_TRACE_H
#define PRIOMARK_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_operation {
    TRACE_OPEN,
    TRACE_INHERIT,
    TRACE_CLOSE,
    TRACE_DUP,
    TRACE_FLAGS,
    TRACE_READ,
    TRACE_WRITE,
    TRACE_PREAD,
    TRACE_PWRITE,
    TRACE_READV,
    TRACE_WRITEV,
    TRACE_PREADV,
    TRACE_PWRITEV,
    TRACE_LSEEK,
    TRACE_FSYNC,
    TRACE_FDATASYNC,
    TRACE_FTRUNCATE,
    TRACE_COPY_FILE_RANGE,
    TRACE_SENDFILE,
    TRACE_OPERATIONS
};

/* Offset of a side of a copy that uses the file pointer. */
enum { TRACE_POINTER = -1 };

/* Maximum bytes of a call on Linux. */
enum { TRACE_MOST_TRANSFER = 0x7ffff000 };

struct trace_request {
    enum trace_operation operation;
    int line;             /* of the file */
    int handle, other;    /* the descriptor; the copy of dup, or the target of a copy */
    int file;             /* open, inherit: index in `file` */
    int flags, whence;    /* of open; of lseek */
    int parts;            /* of a vector */
    size_t first_part;    /* index in `part` */
    int64_t at, duration; /* nanoseconds since the process's start */
    int64_t offset, other_offset;
    int64_t bytes, result;
};

struct trace_file {
    char *path;          /* of the recorded file; a replay uses its own file for it */
    bool exists;         /* before the first request */
    int64_t bytes;       /* size at that time */
    int64_t space_bytes; /* maximum space in a replay, without holes */
    int64_t end_bytes;   /* maximum size */
};

struct trace {
    const char *path;
    int64_t start; /* nanoseconds since 1970 */
    struct trace_request *request;
    struct trace_file *file;
    int64_t *part;
    size_t requests, files, parts;
    int handles;             /* all handles are smaller */
    int64_t largest_request; /* bytes */
    int64_t moved_bytes;     /* 0: nothing to replay */
};

#endif
