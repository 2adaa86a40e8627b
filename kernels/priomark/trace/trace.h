/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded program's requests, as trace_read.h returns them and trace_replay.h repeats them. */
#pragma once

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
    TRACE_FALLOCATE,
    TRACE_TRUNCATE,
    TRACE_UNLINK,
    TRACE_RENAME,
    TRACE_OPERATIONS
};

/* What the recorded program did to its files, or started, without being recorded; how often is in the trace. */
enum trace_unseen {
    TRACE_UNSEEN_STREAMS,
    TRACE_UNSEEN_MMAP,
    TRACE_UNSEEN_AIO,
    TRACE_UNSEEN_IO_URING,
    TRACE_UNSEEN_SPLICE,
    TRACE_UNSEEN_COPY,
    TRACE_UNSEEN_RENAME,
    TRACE_UNSEEN_LINK,
    TRACE_UNSEEN_PROGRAM,
    TRACE_UNSEEN_OTHER, /* kinds of later recorders */
    TRACE_UNSEEN_KINDS
};
extern const char *const trace_unseen_names[TRACE_UNSEEN_KINDS];

/* Offset of a side of a copy that uses the file pointer. */
enum { TRACE_POINTER = -1 };

/* Maximum bytes of a call on Linux. */
enum { TRACE_MOST_TRANSFER = 0x7ffff000 };

#define TRACE_NO_REQUEST SIZE_MAX

struct trace_request {
    enum trace_operation operation;
    int line;             /* of the file */
    int handle, other;    /* the descriptor; the copy of dup, or the target of a copy */
    int file, other_file; /* index in `file`; rename: the new name */
    int flags, whence;    /* of open, or the mode of fallocate; of lseek */
    int parts;            /* of a vector */
    size_t first_part;    /* index in `part` */
    int64_t at, duration; /* nanoseconds since the process's start */
    int64_t offset, other_offset;
    int64_t bytes, result;
    int thread, lane;  /* as recorded; see trace_order.h */
    size_t ordinal;    /* in its lane, from 1 */
    size_t first_wait; /* index in `wait` */
    int waits;
    bool awaited; /* a request of another lane waits for it */
    size_t next;  /* of its lane; TRACE_NO_REQUEST: it is the last one */
};

/* A lane must have completed this many of its requests. */
struct trace_wait {
    int lane;
    size_t requests;
};

struct trace_file {
    char *path;          /* of the recorded file; a replay uses its own file for it */
    uint64_t hash;       /* of the path */
    bool exists;         /* before the first request */
    bool read, written;  /* its data, under this name or an earlier one */
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
    struct trace_wait *wait;
    size_t requests, files, parts, waits;
    int lanes;          /* maximum number of threads at the same time, at least 1 */
    size_t *lane_first; /* first request of each lane, TRACE_NO_REQUEST: none */
    int64_t unseen[TRACE_UNSEEN_KINDS];
    int64_t end;             /* of the last request: nanoseconds since the process's start */
    int handles;             /* all handles are smaller */
    int64_t largest_request; /* bytes */
    int64_t moved_bytes;     /* 0: nothing to replay */
};
