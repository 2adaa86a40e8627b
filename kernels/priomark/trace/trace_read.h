/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded program's requests, read from a trace (docs/priomark.md). A trace comes from elsewhere and may hold
 * anything: what is returned has been checked, so that a replay can follow it without looking. */
#ifndef PRIOMARK_TRACE_READ_H
#define PRIOMARK_TRACE_READ_H

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

/* Offset of a side of a copy that the file pointer gives. */
enum { TRACE_POINTER = -1 };

/* Bytes of a call, on Linux: no more is read or written at once. */
enum { TRACE_MOST_TRANSFER = 0x7ffff000 };

struct trace_request {
    enum trace_operation operation;
    int line;             /* of the file */
    int handle, other;    /* the descriptor; the copy that dup made, or the one that is copied to */
    int file;             /* open, inherit: place in `file` */
    int flags, whence;    /* of open; of lseek */
    int parts;            /* of a vector */
    size_t first_part;    /* place in `part` */
    int64_t at, duration; /* nanoseconds since the process's start */
    int64_t offset, other_offset;
    int64_t bytes, result;
};

struct trace_file {
    char *path;          /* of the recorded file; a replay takes one of its own for it */
    bool exists;         /* before the first request */
    int64_t bytes;       /* that it has then */
    int64_t space_bytes; /* that a replay makes it take at most, holes left out */
    int64_t end_bytes;   /* behind which nothing is written */
};

struct trace {
    const char *path;
    int64_t start; /* nanoseconds since 1970 */
    struct trace_request *request;
    struct trace_file *file;
    int64_t *part;
    size_t requests, files, parts;
    int handles;             /* all are below */
    int64_t largest_request; /* bytes of a buffer that holds each */
    int64_t moved_bytes;     /* 0: nothing to replay */
};

/* Reads a trace. False with "PATH:LINE: what is wrong; the remedy" in `reason` if it is none or not sound. */
bool trace_read(struct trace *trace, const char *path, char *reason, size_t reason_bytes);
void trace_free(struct trace *trace);

const char *trace_operation_name(enum trace_operation operation);

#endif
