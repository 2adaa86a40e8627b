/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_replay.h. */
#include "trace_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_error.h"
#include "memory.h"

enum { BLOCK = 1 << 20, MOST_PARTS = 1024 };
static const double nanosecond = 1e-9;

/* A handle of the trace: its descriptor, -1 if it is not open, and its file pointer, which copies share. */
struct handle {
    int descriptor, file;
    int pointer; /* index in `pointer`: the handle that was opened */
};

struct state {
    const struct replay *replay;
    struct handle *handle;
    int64_t *pointer;
    char *data;
    size_t data_bytes;
    double slept, thought;
    int64_t differing, repositioned;
};

static _Noreturn void stop(const struct state *state, const struct trace_request *request, const char *what, int error)
{
    priomark_fail(state->replay->run, "%s:%d: cannot %s: %s; %s", state->replay->trace->path,
                  request ? request->line : 0, what, strerror(error),
                  io_remedy(error, true, "replay a shorter recording"));
}

/* The run's own file for a recorded one: the same for all processes of a copy. */
static void own_path(const struct state *state, int file, char path[PATH_MAX])
{
    char name[64];
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = state->replay->trace->file[file].path; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    snprintf(name, sizeof name, "trace-%06d-%016" PRIx64, state->replay->copy, hash);
    priomark_path(state->replay->run, path, PATH_MAX, name);
}

/* --- before and after --------------------------------------------------------------------------------------------- */

/* Creates a file that existed before the program, at least as long as this process saw it. */
static void prepare_file(const struct state *state, int file)
{
    const struct trace_file *wanted = &state->replay->trace->file[file];
    static char block[BLOCK];
    char path[PATH_MAX];
    own_path(state, file, path);
    if (!wanted->exists)
        return;
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0)
        stop(state, NULL, "create a file to read from", errno);
    for (int64_t at = 0; at < wanted->bytes; at += BLOCK) {
        const size_t bytes = wanted->bytes - at < BLOCK ? (size_t)(wanted->bytes - at) : BLOCK;
        priomark_fill(block, bytes, (uint32_t)file, (uint64_t)at);
        const ssize_t written = pwrite(descriptor, block, bytes, at);
        if (written != (ssize_t)bytes)
            stop(state, NULL, "fill a file to read from", written < 0 ? errno : ENOSPC);
    }
    if (fsync(descriptor) != 0 || close(descriptor) != 0)
        stop(state, NULL, "fill a file to read from", errno);
    priomark_evict(state->replay->run, path);
}

static void open_handle(struct state *state, const struct trace_request *request)
{
    struct handle *handle = &state->handle[request->handle];
    char path[PATH_MAX];
    own_path(state, request->file, path);
    handle->descriptor = open(path, request->flags | O_CLOEXEC, 0600);
    if (handle->descriptor < 0)
        stop(state, request, "open a file", errno);
    handle->file = request->file;
    handle->pointer = request->handle;
    state->pointer[request->handle] = 0;
}

/* Files that the recorded process inherited are opened before the clock starts. */
static void open_inherited(struct state *state)
{
    const struct trace *trace = state->replay->trace;
    for (size_t i = 0; i < trace->requests; i++) {
        const struct trace_request *request = &trace->request[i];
        if (request->operation != TRACE_INHERIT)
            continue;
        struct trace_request opening = *request;
        opening.flags &= ~O_TRUNC;
        opening.flags |= O_CREAT; /* another process of the recording may create it later */
        open_handle(state, &opening);
        state->pointer[request->handle] = lseek(state->handle[request->handle].descriptor, request->offset, SEEK_SET);
    }
}

static void get_memory(struct state *state)
{
    const struct trace *trace = state->replay->trace;
    const int64_t bytes =
        trace->largest_request < TRACE_MOST_TRANSFER ? trace->largest_request + 1 : TRACE_MOST_TRANSFER;
    state->handle = allocate((size_t)trace->handles + 1, sizeof *state->handle);
    state->pointer = allocate((size_t)trace->handles + 1, sizeof *state->pointer);
    for (int i = 0; i < trace->handles; i++)
        state->handle[i].descriptor = -1;
    /* Programs request up to 2 GiB, more than they get: only used pages take memory. */
    state->data_bytes = (size_t)bytes;
    state->data =
        mmap(NULL, state->data_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (state->data == MAP_FAILED)
        stop(state, NULL, "get memory", errno);
    int64_t used = 0;
    for (size_t i = 0; i < trace->requests; i++)
        if (trace->request[i].operation != TRACE_COPY_FILE_RANGE && trace->request[i].operation != TRACE_SENDFILE &&
            trace->request[i].result > used && trace->request[i].operation != TRACE_LSEEK)
            used = trace->request[i].result;
    priomark_fill(state->data, (size_t)(used < bytes ? used : bytes), (uint32_t)priomark_rank(state->replay->run), 0);
}

static void tidy_up(struct state *state)
{
    const struct trace *trace = state->replay->trace;
    char path[PATH_MAX];
    for (int i = 0; i < trace->handles; i++)
        if (state->handle[i].descriptor >= 0)
            close(state->handle[i].descriptor);
    priomark_barrier(state->replay->run); /* other processes of this copy may still use the files */
    for (size_t i = 0; i < trace->files; i++) {
        own_path(state, (int)i, path);
        unlink(path);
    }
    munmap(state->data, state->data_bytes);
    free(state->handle);
    free(state->pointer);
}

/* --- the requests ------------------------------------------------------------------------------------------------- */

static void sleep_until(double when)
{
    const double rest = when - priomark_now();
    if (rest > 0) {
        const struct timespec pause = {.tv_sec = (time_t)rest, .tv_nsec = (long)(1e9 * (rest - (double)(time_t)rest))};
        nanosleep(&pause, NULL);
    }
}

/* Sets the file pointer first, which is not counted as a request, if another process moved the recorded pointer or a
 * read was shorter here. */
static void set_pointer(struct state *state, const struct trace_request *request)
{
    const struct handle *handle = &state->handle[request->handle];
    const bool appends = fcntl(handle->descriptor, F_GETFL) & O_APPEND;
    const bool writes = request->operation == TRACE_WRITE || request->operation == TRACE_WRITEV;
    if (state->pointer[handle->pointer] == request->offset || (appends && writes))
        return;
    if (lseek(handle->descriptor, request->offset, SEEK_SET) < 0)
        stop(state, request, "set the file pointer", errno);
    state->pointer[handle->pointer] = request->offset;
    state->repositioned++;
}

static int make_vector(const struct state *state, const struct trace_request *request, struct iovec vector[MOST_PARTS])
{
    size_t at = 0;
    for (int i = 0; i < request->parts; i++) {
        const size_t bytes = (size_t)state->replay->trace->part[request->first_part + (size_t)i];
        vector[i] = (struct iovec){state->data + at, bytes};
        at += bytes;
    }
    return request->parts;
}

/* Reads and writes: one call each, as recorded. */
static void transfer(struct state *state, const struct trace_request *request)
{
    static struct iovec vector[MOST_PARTS];
    const struct handle *handle = &state->handle[request->handle];
    const int descriptor = handle->descriptor, parts = make_vector(state, request, vector);
    const size_t bytes = (size_t)request->bytes;
    const bool by_pointer = request->operation == TRACE_READ || request->operation == TRACE_WRITE ||
                            request->operation == TRACE_READV || request->operation == TRACE_WRITEV;
    enum priomark_operation kind = PRIOMARK_READ;
    ssize_t result = -1;
    if (by_pointer)
        set_pointer(state, request);
    const double begin = priomark_now();
    switch (request->operation) {
    case TRACE_READ:
        result = read(descriptor, state->data, bytes);
        break;
    case TRACE_PREAD:
        result = pread(descriptor, state->data, bytes, request->offset);
        break;
    case TRACE_READV:
        result = readv(descriptor, vector, parts);
        break;
    case TRACE_PREADV:
        result = preadv(descriptor, vector, parts, request->offset);
        break;
    case TRACE_WRITE:
        kind = PRIOMARK_WRITE, result = write(descriptor, state->data, bytes);
        break;
    case TRACE_PWRITE:
        kind = PRIOMARK_WRITE, result = pwrite(descriptor, state->data, bytes, request->offset);
        break;
    case TRACE_WRITEV:
        kind = PRIOMARK_WRITE, result = writev(descriptor, vector, parts);
        break;
    default:
        kind = PRIOMARK_WRITE, result = pwritev(descriptor, vector, parts, request->offset);
        break;
    }
    const double end = priomark_now();
    if (result < 0)
        stop(state, request, trace_operation_name(request->operation), errno);
    if (by_pointer)
        state->pointer[handle->pointer] += result;
    state->differing += result != request->result;
    priomark_request(state->replay->run, kind, result, end - begin);
}

/* A copy counts as a write of as many bytes. */
static void copy(struct state *state, const struct trace_request *request)
{
    const struct handle *from = &state->handle[request->handle], *to = &state->handle[request->other];
    off_t offset = request->offset, to_offset = request->other_offset;
    off_t *const given = offset == TRACE_POINTER ? NULL : &offset, *const to_given =
                                                                       to_offset == TRACE_POINTER ? NULL : &to_offset;
    const double begin = priomark_now();
    const ssize_t result =
        request->operation == TRACE_SENDFILE
            ? sendfile(to->descriptor, from->descriptor, given, (size_t)request->bytes)
            : copy_file_range(from->descriptor, given, to->descriptor, to_given, (size_t)request->bytes, 0);
    const double end = priomark_now();
    if (result < 0)
        stop(state, request, trace_operation_name(request->operation), errno);
    if (!given)
        state->pointer[from->pointer] += result;
    if (!to_given)
        state->pointer[to->pointer] += result;
    state->differing += result != request->result;
    priomark_request(state->replay->run, PRIOMARK_WRITE, result, end - begin);
}

static void seek(struct state *state, const struct trace_request *request)
{
    const struct handle *handle = &state->handle[request->handle];
    const off_t result = lseek(handle->descriptor, request->offset, request->whence);
    if (result >= 0) /* if it failed, the next request sets the pointer */
        state->pointer[handle->pointer] = result;
    state->differing += result != request->result;
}

static void synchronise(struct state *state, const struct trace_request *request)
{
    const int descriptor = state->handle[request->handle].descriptor;
    const double begin = priomark_now();
    if ((request->operation == TRACE_FSYNC ? fsync(descriptor) : fdatasync(descriptor)) != 0)
        stop(state, request, "synchronise", errno);
    priomark_phase(state->replay->run, PRIOMARK_SYNC, priomark_now() - begin);
}

static void execute(struct state *state, const struct trace_request *request)
{
    struct handle *handle = &state->handle[request->handle];
    int result = 0;
    switch (request->operation) {
    case TRACE_OPEN:
        open_handle(state, request);
        break;
    case TRACE_INHERIT:
        break;
    case TRACE_CLOSE:
        result = close(handle->descriptor);
        handle->descriptor = -1;
        break;
    case TRACE_DUP:
        state->handle[request->other] = *handle;
        result = state->handle[request->other].descriptor = fcntl(handle->descriptor, F_DUPFD_CLOEXEC, 0);
        break;
    case TRACE_FLAGS:
        result = fcntl(handle->descriptor, F_SETFL, request->flags);
        break;
    case TRACE_FTRUNCATE:
        result = ftruncate(handle->descriptor, request->bytes);
        break;
    case TRACE_LSEEK:
        seek(state, request);
        break;
    case TRACE_FSYNC:
    case TRACE_FDATASYNC:
        synchronise(state, request);
        break;
    case TRACE_COPY_FILE_RANGE:
    case TRACE_SENDFILE:
        copy(state, request);
        break;
    default:
        transfer(state, request);
        break;
    }
    if (result < 0)
        stop(state, request, trace_operation_name(request->operation), errno);
}

/* Synchronises written files that the program did not synchronise itself. */
static void synchronise_all(struct state *state)
{
    const struct trace *trace = state->replay->trace;
    char path[PATH_MAX];
    const double begin = priomark_now();
    for (size_t i = 0; i < trace->files; i++) {
        if (trace->file[i].space_bytes == trace->file[i].bytes && trace->file[i].exists)
            continue;
        own_path(state, (int)i, path);
        const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (descriptor >= 0 && (fsync(descriptor) != 0 || close(descriptor) != 0))
            stop(state, NULL, "synchronise", errno);
    }
    priomark_phase(state->replay->run, PRIOMARK_SYNC, priomark_now() - begin);
}

static void replay_requests(struct state *state)
{
    const struct replay *replay = state->replay;
    int64_t before = -replay->late; /* end of the last request in the recording */
    for (size_t i = 0; i < replay->trace->requests; i++) {
        const struct trace_request *request = &replay->trace->request[i];
        const double think = request->at > before ? nanosecond * (double)(request->at - before) : 0;
        before = request->at + request->duration > before ? request->at + request->duration : before;
        state->thought += think;
        if (replay->think && think > 0) {
            const double begin = priomark_now();
            sleep_until(begin + think);
            state->slept += priomark_now() - begin;
        }
        execute(state, request);
    }
}

void replay_trace(const struct replay *replay)
{
    struct state state = {.replay = replay};
    get_memory(&state);
    for (size_t i = 0; i < replay->trace->files; i++)
        prepare_file(&state, (int)i);
    priomark_barrier(replay->run);
    open_inherited(&state);
    priomark_begin(replay->run);
    replay_requests(&state);
    if (replay->sync)
        synchronise_all(&state);
    priomark_end(replay->run);
    priomark_value(replay->run, "think_seconds", state.thought);
    priomark_value(replay->run, "slept_seconds", state.slept);
    priomark_value(replay->run, "differing_results", (double)state.differing);
    priomark_value(replay->run, "repositioned", (double)state.repositioned);
    tidy_up(&state);
}
