/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: a library that is preloaded into a program and records its requests to files
 * (docs/priomark_recording.md). The program must not be affected. Each file operation that the program calls in libc
 * (opens.c, transfers.c, streams.c) is passed on unchanged. Recording keeps errno, takes no lock, allocates no heap
 * memory and calls only functions that are safe in a signal handler, so that calls in handlers, in threads that are
 * being cancelled and between fork and exec are recorded as well. */
#pragma once

#include <aio.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RECORDER_EXPORT __attribute__((visibility("default")))
#if __has_attribute(copy)
#define RECORDER_ALIAS(name) __attribute__((visibility("default"), alias(#name), copy(name)))
#else
#define RECORDER_ALIAS(name) __attribute__((visibility("default"), alias(#name)))
#endif

_Static_assert(sizeof(off_t) == 8, "the recorder requires 64-bit offsets");

/* --- the trace (trace_file.c) ------------------------------------------------------------------------------------- */

/* Whether this process writes a trace. False in a child that shares its parent's memory (vfork, posix_spawn). */
bool recording(void);

/* The trace's own descriptor, -1 if there is none; and moving it if the program calls dup2() onto it. */
int trace_descriptor(void);
void trace_move_descriptor(void);

/* Only files below this directory are recorded; NULL: all. */
const char *trace_below(void);

/* A line of the trace: short ones are on the stack, lines with a path or with many sizes in mapped memory. */
struct line {
    char *at, *end, *mapped;
    size_t mapped_bytes;
    int error; /* errno before, which line_end() restores */
    char room[320];
};
enum { LONGEST_PATH = 3 * PATH_MAX }; /* in a line, where each character may be escaped */
void line_begin(struct line *line, size_t more_bytes);
void line_text(struct line *line, const char *text);
void line_number(struct line *line, int64_t number); /* with a space before it */
void line_flags(struct line *line, int flags);       /* with a space before them */
void line_escaped(struct line *line,
                  const char *text); /* with a space before it; other than printable characters as %XX */
void line_end(struct line *line);    /* writes it */
/* The same in a child that shares this memory (vfork), and may have closed the trace's descriptor. */
void line_end_shared(struct line *line);

/* --- which descriptors are recorded (handles.c) ------------------------------------------------------------------- */

enum { NO_HANDLE = 0 }; /* handles count from 1 and are never reused, unlike descriptors */

/* The handle of a descriptor, NO_HANDLE unless it is a regular file. A descriptor whose opening was not recorded (by
 * the parent, before an exec, by mkstemp) gets its handle and a line `inherit` at its first use. */
int handle_of(int descriptor);
int handle_known(int descriptor); /* the same without that line */

/* A descriptor has just been opened: notes the line `open`, and returns the descriptor. */
struct call;
int handle_open(const struct call *call, int descriptor, int flags);
/* Whether the file is one that may be recorded, by its path without symbolic links, in PATH_MAX bytes. */
bool handle_path(int descriptor, char *path);
/* A new handle for a copy of a descriptor; returns it. */
int handle_copy(int descriptor);
/* The descriptor is about to be closed: returns its handle and forgets it. */
int handle_forget(int descriptor);
/* The highest descriptor that ever had a handle. */
int handle_highest(void);
/* Forgets all: a forked child has its own trace. */
void handles_reset(void);

/* --- a call that is recorded (calls.c) ---------------------------------------------------------------------------- */

struct call {
    int handle; /* NO_HANDLE: nothing to record */
    struct timespec begin;
};

/* Before the call, with or without a descriptor. Keeps errno. */
struct call call_begin(int descriptor);
struct call call_begin_open(void);
struct call call_begin_close(int descriptor); /* which has no handle from then on */

/* The first fields of a line: times, thread, operation. Further fields and line_end() follow. */
void call_line(struct line *line, const struct call *call, const char *operation, size_t more_bytes);

/* After the call, keeping errno; each does nothing if the call failed or its handle is NO_HANDLE. Those that get its
 * result return it. */
enum { AT_POINTER = -1 }; /* offset of a call that uses the file pointer */
ssize_t call_done_transfer(const struct call *call, const char *operation, int descriptor, off_t offset, size_t bytes,
                           ssize_t result);
ssize_t call_done_vector(const struct call *call, const char *operation, int descriptor, off_t offset,
                         const struct iovec *part, int parts, ssize_t result);
int call_done(const struct call *call, const char *operation, int result); /* close, fsync, fdatasync */
off_t call_done_seek(const struct call *call, off_t offset, int whence, off_t result);
void call_done_number(const struct call *call, const char *operation, int64_t number); /* dup, ftruncate */
void call_done_flags(const struct call *call, int flags);
void call_done_copy(const struct call *from, const struct call *to, const char *operation, const int descriptor[2],
                    const off_t *const offset[2], size_t bytes, ssize_t result);
int call_done_allocation(const struct call *call, int mode, off_t offset, off_t bytes, int result);

/* Counts something that is done to recorded files and is not recorded; `text` is for people and may be NULL. Keeps
 * errno.
 */
void call_unseen(const char *kind, const char *text);

/* --- libc's own functions (next.c) -------------------------------------------------------------------------------- */

/* Not in every libc's headers. */
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int lowest);
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
ssize_t __read_chk(int descriptor, void *data, size_t bytes, size_t room);
ssize_t __pread_chk(int descriptor, void *data, size_t bytes, off_t offset, size_t room);

/* clang-format off */
#define NEXT_CALLS(X) \
    X(open) X(openat) X(creat) X(__open_2) X(__openat_2) X(fopen) X(freopen) X(close) X(close_range) X(closefrom) \
    X(dup) X(dup2) X(dup3) X(fcntl) X(read) X(write) X(pread) X(pwrite) X(__read_chk) X(__pread_chk) X(readv) \
    X(writev) X(preadv) X(pwritev) X(preadv2) X(pwritev2) X(lseek) X(fsync) X(fdatasync) X(ftruncate) X(copy_file_range) \
    X(sendfile) X(fallocate) X(posix_fallocate) X(truncate) X(unlink) X(unlinkat) X(remove) X(rename) X(renameat) \
    X(renameat2) X(link) X(linkat) X(splice) X(aio_read) X(aio_write) X(lio_listio) X(execve) X(execv) X(execvp) \
    X(execvpe) X(posix_spawn) X(posix_spawnp)
/* clang-format on */

struct next_calls {
#define MEMBER(name) __typeof__(&name) name;
    NEXT_CALLS(MEMBER)
#undef MEMBER
};
const struct next_calls *next_calls(void);
long next_syscall(long number, long a, long b, long c, long d, long e, long f);

/* --- the calls of libc's streams (streams.c) ---------------------------------------------------------------------- */

/* From now on they are recorded as well; false if this libc implements them differently. */
bool streams_watch(void);

/* Before and after a call that opens a stream, with its descriptor, -1 if it failed. */
void streams_opening(void);
void streams_opened(int descriptor);
