/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_lane.h: one request of a replay. */
#include "trace_lane.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <unistd.h>

void replay_path(const struct replay *replay, int file, char path[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof name, "trace-%06d-%016" PRIx64, replay->copy, replay->trace->file[file].hash);
    priomark_path(replay->run, path, PATH_MAX, name);
}

static bool fail_request(struct lane *lane, const struct trace_request *request, const char *what)
{
    lane->failed = request;
    lane->what = what;
    lane->error = errno;
    return false;
}

bool replay_open(struct lane *lane, const struct trace_request *request)
{
    struct replay_state *state = lane->state;
    struct replay_handle *handle = &state->handle[request->handle];
    char path[PATH_MAX];
    replay_path(state->replay, request->file, path);
    handle->descriptor = open(path, request->flags | O_CLOEXEC, 0600);
    if (handle->descriptor < 0 && errno == ENOENT) { /* another process of the recording made or moved it */
        handle->descriptor = open(path, request->flags | O_CREAT | O_CLOEXEC, 0600);
        lane->differing++;
    }
    handle->pointer = request->handle;
    state->pointer[request->handle] = 0;
    return handle->descriptor >= 0;
}

/* Sets the file pointer first, which is not counted as a request, if another process moved the recorded pointer or a
 * read was shorter here. */
static bool set_pointer(struct lane *lane, const struct trace_request *request)
{
    const struct replay_handle *handle = &lane->state->handle[request->handle];
    int64_t *pointer = &lane->state->pointer[handle->pointer];
    const bool appends = fcntl(handle->descriptor, F_GETFL) & O_APPEND;
    const bool writes = request->operation == TRACE_WRITE || request->operation == TRACE_WRITEV;
    if (*pointer == request->offset || (appends && writes))
        return true;
    if (lseek(handle->descriptor, request->offset, SEEK_SET) < 0)
        return false;
    *pointer = request->offset;
    lane->repositioned++;
    return true;
}

static int make_vector(struct lane *lane, const struct trace_request *request)
{
    size_t at = 0;
    for (int i = 0; i < request->parts; i++) {
        const size_t bytes = (size_t)lane->state->replay->trace->part[request->first_part + (size_t)i];
        lane->vector[i] = (struct iovec){lane->data + at, bytes};
        at += bytes;
    }
    return request->parts;
}

static void note(struct lane *lane, const struct trace_request *request, enum priomark_operation kind, int64_t bytes,
                 double seconds)
{
    const size_t index = (size_t)(request - lane->state->replay->trace->request);
    lane->state->outcome[index] = (struct outcome){true, kind, bytes, seconds};
    lane->differing += bytes != request->result;
}

/* Reads and writes: one call each, as recorded. */
static bool transfer(struct lane *lane, const struct trace_request *request)
{
    const struct replay_handle *handle = &lane->state->handle[request->handle];
    const int descriptor = handle->descriptor, parts = make_vector(lane, request);
    const size_t bytes = (size_t)request->bytes;
    const bool by_pointer = request->operation == TRACE_READ || request->operation == TRACE_WRITE ||
                            request->operation == TRACE_READV || request->operation == TRACE_WRITEV;
    enum priomark_operation kind = PRIOMARK_READ;
    ssize_t result = -1;
    if (by_pointer && !set_pointer(lane, request))
        return fail_request(lane, request, "set the file pointer");
    const double begin = now_seconds();
    switch (request->operation) {
    case TRACE_READ:
        result = read(descriptor, lane->data, bytes);
        break;
    case TRACE_PREAD:
        result = pread(descriptor, lane->data, bytes, request->offset);
        break;
    case TRACE_READV:
        result = readv(descriptor, lane->vector, parts);
        break;
    case TRACE_PREADV:
        result = preadv(descriptor, lane->vector, parts, request->offset);
        break;
    case TRACE_WRITE:
        kind = PRIOMARK_WRITE, result = write(descriptor, lane->data, bytes);
        break;
    case TRACE_PWRITE:
        kind = PRIOMARK_WRITE, result = pwrite(descriptor, lane->data, bytes, request->offset);
        break;
    case TRACE_WRITEV:
        kind = PRIOMARK_WRITE, result = writev(descriptor, lane->vector, parts);
        break;
    default:
        kind = PRIOMARK_WRITE, result = pwritev(descriptor, lane->vector, parts, request->offset);
        break;
    }
    const double end = now_seconds();
    if (result < 0)
        return fail_request(lane, request, trace_operation_name(request->operation));
    if (by_pointer)
        lane->state->pointer[handle->pointer] += result;
    note(lane, request, kind, result, end - begin);
    return true;
}

/* A copy counts as a write of as many bytes. */
static bool copy(struct lane *lane, const struct trace_request *request)
{
    struct replay_state *state = lane->state;
    const struct replay_handle *from = &state->handle[request->handle], *to = &state->handle[request->other];
    off_t offset = request->offset, to_offset = request->other_offset;
    off_t *const given = offset == TRACE_POINTER ? NULL : &offset, *const to_given =
                                                                       to_offset == TRACE_POINTER ? NULL : &to_offset;
    const double begin = now_seconds();
    const ssize_t result =
        request->operation == TRACE_SENDFILE
            ? sendfile(to->descriptor, from->descriptor, given, (size_t)request->bytes)
            : copy_file_range(from->descriptor, given, to->descriptor, to_given, (size_t)request->bytes, 0);
    const double end = now_seconds();
    if (result < 0)
        return fail_request(lane, request, trace_operation_name(request->operation));
    if (!given)
        state->pointer[from->pointer] += result;
    if (!to_given)
        state->pointer[to->pointer] += result;
    note(lane, request, PRIOMARK_WRITE, result, end - begin);
    return true;
}

static void seek(struct lane *lane, const struct trace_request *request)
{
    const struct replay_handle *handle = &lane->state->handle[request->handle];
    const off_t result = lseek(handle->descriptor, request->offset, request->whence);
    if (result >= 0) /* if it failed, the next request sets the pointer */
        lane->state->pointer[handle->pointer] = result;
    lane->differing += result != request->result;
}

static int synchronise(struct lane *lane, const struct trace_request *request)
{
    const int descriptor = lane->state->handle[request->handle].descriptor;
    const double begin = now_seconds();
    const int result = request->operation == TRACE_FSYNC ? fsync(descriptor) : fdatasync(descriptor);
    lane->synchronised += now_seconds() - begin;
    return result;
}

/* By name. Another process of the recording may have made or moved the file: then the result differs. */
static void change_by_name(struct lane *lane, const struct trace_request *request)
{
    const struct replay *replay = lane->state->replay;
    char path[PATH_MAX], to[PATH_MAX];
    int result;
    replay_path(replay, request->file, path);
    if (request->operation == TRACE_TRUNCATE) {
        result = truncate(path, request->bytes);
    } else if (request->operation == TRACE_UNLINK) {
        result = unlink(path);
    } else {
        replay_path(replay, request->other_file, to);
        result = rename(path, to);
    }
    lane->differing += result != 0;
}

bool replay_request(struct lane *lane, const struct trace_request *request)
{
    struct replay_state *state = lane->state;
    struct replay_handle *handle = &state->handle[request->handle];
    int result = 0;
    switch (request->operation) {
    case TRACE_OPEN:
        result = replay_open(lane, request) ? 0 : -1;
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
    case TRACE_FALLOCATE: /* not every file system has all modes */
        lane->differing += fallocate(handle->descriptor, request->flags, request->offset, request->bytes) != 0;
        break;
    case TRACE_TRUNCATE:
    case TRACE_UNLINK:
    case TRACE_RENAME:
        change_by_name(lane, request);
        break;
    case TRACE_LSEEK:
        seek(lane, request);
        break;
    case TRACE_FSYNC:
    case TRACE_FDATASYNC:
        result = synchronise(lane, request);
        break;
    case TRACE_COPY_FILE_RANGE:
    case TRACE_SENDFILE:
        return copy(lane, request);
    default:
        return transfer(lane, request);
    }
    return result >= 0 || fail_request(lane, request, trace_operation_name(request->operation));
}
