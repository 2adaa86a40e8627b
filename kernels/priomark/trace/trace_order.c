/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_order.h. A request waits only for requests in earlier lines, so no two can wait for each other. */
#include "trace_order.h"

#include <fcntl.h>
#include <stdlib.h>

#include "memory.h"
#include "units.h"

enum { MOST_LANES = 1024 };

/* --- lanes -------------------------------------------------------------------------------------------------------- */

struct thread {
    int number, lane;
    int64_t first, end; /* of its requests, nanoseconds */
};

static int by_number(const void *a, const void *b)
{
    const int x = ((const struct thread *)a)->number, y = ((const struct thread *)b)->number;
    return (x > y) - (x < y);
}

static int by_first(const void *a, const void *b)
{
    const struct thread *const *x = a, *const *y = b;
    return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

/* The threads by their numbers, with the span of their requests. */
static struct thread *list_threads(const struct trace *trace, size_t *threads)
{
    struct thread *list = allocate(trace->requests, sizeof *list);
    for (size_t i = 0; i < trace->requests; i++) {
        const struct trace_request *request = &trace->request[i];
        list[i] = (struct thread){request->thread, 0, request->at, request->at + request->duration};
    }
    qsort(list, trace->requests, sizeof *list, by_number);
    *threads = 0;
    for (size_t i = 0; i < trace->requests; i++) {
        if (*threads == 0 || list[i].number != list[*threads - 1].number)
            list[(*threads)++] = list[i];
        struct thread *thread = &list[*threads - 1];
        thread->first = lesser(thread->first, list[i].first);
        thread->end = greater(thread->end, list[i].end);
    }
    return list;
}

/* In the order of their first requests, each thread gets the first lane that is free. Returns the number of lanes, or
 * -1 if there are too many. */
static int share_lanes(struct thread *list, size_t threads)
{
    int64_t lane_end[MOST_LANES];
    int lanes = 0;
    struct thread **ordered = allocate(threads, sizeof *ordered);
    for (size_t i = 0; i < threads; i++)
        ordered[i] = &list[i];
    qsort(ordered, threads, sizeof *ordered, by_first);
    for (size_t i = 0; i < threads && lanes >= 0; i++) {
        int lane = 0;
        while (lane < lanes && lane_end[lane] > ordered[i]->first)
            lane++;
        if (lane == MOST_LANES) {
            lanes = -1;
            break;
        }
        ordered[i]->lane = lane;
        lane_end[lane] = ordered[i]->end;
        lanes = lane == lanes ? lanes + 1 : lanes;
    }
    free(ordered);
    return lanes;
}

static void assign_lanes(const struct reader *reader)
{
    struct trace *trace = reader->trace;
    size_t threads, count[MOST_LANES] = {0}, last[MOST_LANES];
    struct thread *list = list_threads(trace, &threads);
    trace->lanes = share_lanes(list, threads);
    trace->lane_first = allocate(MOST_LANES, sizeof *trace->lane_first);
    for (int lane = 0; lane < MOST_LANES; lane++)
        trace->lane_first[lane] = TRACE_NO_REQUEST;
    for (size_t i = 0; i < trace->requests && trace->lanes > 0; i++) {
        struct trace_request *request = &trace->request[i];
        const struct thread key = {.number = request->thread};
        request->lane = ((struct thread *)bsearch(&key, list, threads, sizeof *list, by_number))->lane;
        request->ordinal = ++count[request->lane];
        request->next = TRACE_NO_REQUEST;
        if (request->ordinal == 1)
            trace->lane_first[request->lane] = i;
        else
            trace->request[last[request->lane]].next = i;
        last[request->lane] = i;
    }
    free(list);
    if (trace->lanes < 0)
        trace_refuse(reader, "more than %d threads at the same time", MOST_LANES);
    trace->lanes = trace->lanes ? trace->lanes : 1;
}

/* --- what requests wait for --------------------------------------------------------------------------------------- */

/* The last request of each lane that did something. */
struct uses {
    size_t *request;
    size_t count;
};

struct handle_state {
    size_t maker;
    int pointer;  /* the handle that was opened: copies share its file pointer */
    size_t moved; /* last request that used this file pointer */
    struct uses users;
};

struct file_state {
    size_t change; /* last request that made, cut, moved or removed it */
    struct uses users, growers;
    int64_t end;
};

struct sorter {
    struct trace *trace;
    struct handle_state *handle;
    struct file_state *file;
    size_t *known;  /* for each pair of lanes: how far the first one has waited for the second */
    size_t current; /* index of the request */
};

static void wait_for(struct sorter *sorter, size_t earlier, bool always)
{
    struct trace *trace = sorter->trace;
    if (earlier == TRACE_NO_REQUEST)
        return;
    struct trace_request *request = &trace->request[sorter->current], *before = &trace->request[earlier];
    if (before->lane == request->lane || (!always && before->at + before->duration > request->at))
        return;
    size_t *known = &sorter->known[request->lane * trace->lanes + before->lane];
    if (*known >= before->ordinal)
        return;
    *known = before->ordinal;
    before->awaited = true;
    trace->wait = trace_room(trace->wait, trace->waits, sizeof *trace->wait);
    trace->wait[trace->waits++] = (struct trace_wait){before->lane, before->ordinal};
    request->waits++;
}

static void wait_for_all(struct sorter *sorter, const struct uses *uses)
{
    for (size_t i = 0; i < uses->count; i++)
        wait_for(sorter, uses->request[i], false);
}

static void note(struct sorter *sorter, struct uses *uses)
{
    const struct trace_request *request = sorter->trace->request;
    for (size_t i = 0; i < uses->count; i++)
        if (request[uses->request[i]].lane == request[sorter->current].lane) {
            uses->request[i] = sorter->current;
            return;
        }
    uses->request = trace_room(uses->request, uses->count, sizeof *uses->request);
    uses->request[uses->count++] = sorter->current;
}

static void use_handle(struct sorter *sorter, int handle)
{
    wait_for(sorter, sorter->handle[handle].maker, true);
    note(sorter, &sorter->handle[handle].users);
}

static void move_pointer(struct sorter *sorter, int handle)
{
    size_t *moved = &sorter->handle[sorter->handle[handle].pointer].moved;
    wait_for(sorter, *moved, true);
    *moved = sorter->current;
}

static void change_file(struct sorter *sorter, int number)
{
    struct file_state *file = &sorter->file[number];
    wait_for(sorter, file->change, false);
    wait_for_all(sorter, &file->users);
    file->change = sorter->current;
    file->users.count = file->growers.count = 0;
    note(sorter, &file->users);
}

static void use_file(struct sorter *sorter, int number, bool writes, int64_t offset, int64_t bytes)
{
    struct file_state *file = &sorter->file[number];
    wait_for(sorter, file->change, false);
    if (!writes && offset + bytes > sorter->trace->file[number].bytes)
        wait_for_all(sorter, &file->growers);
    if (writes && offset + bytes > file->end) {
        file->end = offset + bytes;
        note(sorter, &file->growers);
    }
    note(sorter, &file->users);
}

static void make_handle(struct sorter *sorter, int handle, int pointer)
{
    struct handle_state *state = &sorter->handle[handle];
    state->maker = sorter->current;
    state->pointer = pointer;
    state->moved = TRACE_NO_REQUEST;
    state->users.count = 0;
}

static void sort_open(struct sorter *sorter, const struct trace_request *request)
{
    if (request->flags & O_TRUNC || (request->flags & O_CREAT && request->bytes == 0))
        change_file(sorter, request->file);
    else
        use_file(sorter, request->file, false, 0, 0);
    make_handle(sorter, request->handle, request->handle);
}

static void sort_copy(struct sorter *sorter, const struct trace_request *request)
{
    use_handle(sorter, request->handle);
    use_handle(sorter, request->other);
    if (request->offset == TRACE_POINTER)
        move_pointer(sorter, request->handle);
    if (request->other_offset == TRACE_POINTER)
        move_pointer(sorter, request->other);
    use_file(sorter, request->file, false, 0, INT64_MAX);
    use_file(sorter, request->other_file, true, 0, INT64_MAX);
}

static void sort_transfer(struct sorter *sorter, const struct trace_request *request)
{
    const enum trace_operation operation = request->operation;
    use_handle(sorter, request->handle);
    if (operation == TRACE_READ || operation == TRACE_WRITE || operation == TRACE_READV || operation == TRACE_WRITEV)
        move_pointer(sorter, request->handle);
    use_file(sorter, request->file,
             operation == TRACE_WRITE || operation == TRACE_PWRITE || operation == TRACE_WRITEV ||
                 operation == TRACE_PWRITEV,
             request->offset, request->result);
}

static void sort_request(struct sorter *sorter, const struct trace_request *request)
{
    switch (request->operation) {
    case TRACE_INHERIT: /* before the first request */
        make_handle(sorter, request->handle, request->handle);
        sorter->handle[request->handle].maker = TRACE_NO_REQUEST;
        break;
    case TRACE_OPEN:
        sort_open(sorter, request);
        break;
    case TRACE_DUP:
        use_handle(sorter, request->handle);
        make_handle(sorter, request->other, sorter->handle[request->handle].pointer);
        break;
    case TRACE_CLOSE:
        wait_for_all(sorter, &sorter->handle[request->handle].users);
        use_handle(sorter, request->handle);
        break;
    case TRACE_LSEEK:
        use_handle(sorter, request->handle);
        move_pointer(sorter, request->handle);
        break;
    case TRACE_FLAGS:
    case TRACE_FSYNC:
    case TRACE_FDATASYNC:
        use_handle(sorter, request->handle);
        break;
    case TRACE_FTRUNCATE:
    case TRACE_FALLOCATE:
        use_handle(sorter, request->handle);
        change_file(sorter, request->file);
        break;
    case TRACE_RENAME:
        change_file(sorter, request->other_file);
        change_file(sorter, request->file);
        break;
    case TRACE_TRUNCATE:
    case TRACE_UNLINK:
        change_file(sorter, request->file);
        break;
    case TRACE_COPY_FILE_RANGE:
    case TRACE_SENDFILE:
        sort_copy(sorter, request);
        break;
    default:
        sort_transfer(sorter, request);
        break;
    }
}

static void determine_waits(struct trace *trace)
{
    struct sorter sorter = {.trace = trace,
                            .handle = allocate((size_t)trace->handles + 1, sizeof *sorter.handle),
                            .file = allocate(trace->files, sizeof *sorter.file),
                            .known = allocate((size_t)trace->lanes * (size_t)trace->lanes, sizeof *sorter.known)};
    for (size_t i = 0; i < trace->files; i++) {
        sorter.file[i].change = TRACE_NO_REQUEST;
        sorter.file[i].end = trace->file[i].bytes;
    }
    for (sorter.current = 0; sorter.current < trace->requests; sorter.current++) {
        trace->request[sorter.current].first_wait = trace->waits;
        sort_request(&sorter, &trace->request[sorter.current]);
    }
    for (int i = 0; i <= trace->handles; i++)
        free(sorter.handle[i].users.request);
    for (size_t i = 0; i < trace->files; i++) {
        free(sorter.file[i].users.request);
        free(sorter.file[i].growers.request);
    }
    free(sorter.handle);
    free(sorter.file);
    free(sorter.known);
}

void trace_order(struct reader *reader)
{
    assign_lanes(reader);
    if (reader->trace->lanes > 1)
        determine_waits(reader->trace);
}
