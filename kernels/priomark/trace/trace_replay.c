/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_replay.h: the files of a replay, its lanes as threads, and its think times. */
#include "trace_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "io_error.h"
#include "memory.h"

enum { BLOCK = 1 << 20 };
static const double nanosecond = 1e-9;

static _Noreturn void stop(const struct replay *replay, const struct trace_request *request, const char *what,
                           int error)
{
    priomark_fail(replay->run, "%s:%d: cannot %s: %s; %s", replay->trace->path, request ? request->line : 0, what,
                  strerror(error), io_remedy(error, true, "replay a shorter recording"));
}

/* --- before and after --------------------------------------------------------------------------------------------- */

/* Creates a file that existed before the program, at least as long as this process saw it. */
static void prepare_file(const struct replay *replay, int file)
{
    const struct trace_file *wanted = &replay->trace->file[file];
    static char block[BLOCK];
    char path[PATH_MAX];
    replay_path(replay, file, path);
    if (!wanted->exists)
        return;
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0)
        stop(replay, NULL, "create a file to read from", errno);
    for (int64_t at = 0; at < wanted->bytes; at += BLOCK) {
        const size_t bytes = wanted->bytes - at < BLOCK ? (size_t)(wanted->bytes - at) : BLOCK;
        data_fill(block, bytes, (uint32_t)file, (uint64_t)at);
        const ssize_t written = pwrite(descriptor, block, bytes, at);
        if (written != (ssize_t)bytes)
            stop(replay, NULL, "fill a file to read from", written < 0 ? errno : ENOSPC);
    }
    if (fsync(descriptor) != 0 || close(descriptor) != 0)
        stop(replay, NULL, "fill a file to read from", errno);
    priomark_evict(replay->run, path);
}

/* Files that the recorded process inherited are opened before the clock starts. */
static void open_inherited(struct replay_state *state)
{
    const struct trace *trace = state->replay->trace;
    for (size_t i = 0; i < trace->requests; i++) {
        const struct trace_request *request = &trace->request[i];
        if (request->operation != TRACE_INHERIT)
            continue;
        struct trace_request opening = *request;
        opening.flags &= ~O_TRUNC;
        opening.flags |= O_CREAT; /* another process of the recording may create it later */
        if (!replay_open(&state->lane[0], &opening))
            stop(state->replay, request, "open a file", errno);
        state->pointer[request->handle] = lseek(state->handle[request->handle].descriptor, request->offset, SEEK_SET);
    }
}

static size_t data_bytes(const struct trace *trace)
{
    return trace->largest_request < TRACE_MOST_TRANSFER ? (size_t)trace->largest_request + 1 : TRACE_MOST_TRANSFER;
}

/* Programs request up to 2 GiB, more than they get: only used pages take memory. */
static char *get_data(const struct replay *replay, int64_t used)
{
    const size_t bytes = data_bytes(replay->trace);
    char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        stop(replay, NULL, "get memory", errno);
    data_fill(data, (size_t)used < bytes ? (size_t)used : bytes, (uint32_t)priomark_rank(replay->run), 0);
    return data;
}

static void get_memory(struct replay_state *state)
{
    const struct trace *trace = state->replay->trace;
    int64_t used[trace->lanes]; /* by the requests of each lane */
    memset(used, 0, sizeof used);
    state->handle = allocate((size_t)trace->handles + 1, sizeof *state->handle);
    state->pointer = allocate((size_t)trace->handles + 1, sizeof *state->pointer);
    state->outcome = allocate(trace->requests, sizeof *state->outcome);
    state->lane = allocate((size_t)trace->lanes, sizeof *state->lane);
    for (int i = 0; i < trace->handles; i++)
        state->handle[i].descriptor = -1;
    for (size_t i = 0; i < trace->requests; i++) {
        const struct trace_request *request = &trace->request[i];
        if (request->operation != TRACE_COPY_FILE_RANGE && request->operation != TRACE_SENDFILE &&
            request->operation != TRACE_LSEEK && request->result > used[request->lane])
            used[request->lane] = request->result;
    }
    for (int i = 0; i < trace->lanes; i++) {
        state->lane[i].state = state;
        state->lane[i].number = i;
        state->lane[i].data = get_data(state->replay, used[i]);
    }
}

static void tidy_up(struct replay_state *state)
{
    const struct trace *trace = state->replay->trace;
    char path[PATH_MAX];
    for (int i = 0; i < trace->handles; i++)
        if (state->handle[i].descriptor >= 0)
            close(state->handle[i].descriptor);
    priomark_barrier(state->replay->run); /* other processes of this copy may still use the files */
    for (size_t i = 0; i < trace->files; i++) {
        replay_path(state->replay, (int)i, path);
        unlink(path);
    }
    for (int i = 0; i < trace->lanes; i++)
        munmap(state->lane[i].data, data_bytes(trace));
    free(state->lane);
    free(state->outcome);
    free(state->handle);
    free(state->pointer);
}

/* --- think times -------------------------------------------------------------------------------------------------- */

/* A sleep takes longer than wanted by up to 0.1 ms: what was too long is deducted from the think times that follow, so
 * that many short ones keep their sum. */
static void think(struct lane *lane, double seconds)
{
    lane->owed += seconds;
    if (lane->owed <= 0)
        return;
    const double begin = now_seconds();
    const struct timespec pause = {.tv_sec = (time_t)lane->owed,
                                   .tv_nsec = (long)(1e9 * (lane->owed - (double)(time_t)lane->owed))};
    nanosleep(&pause, NULL);
    const double slept = now_seconds() - begin;
    lane->owed -= slept;
    lane->slept += slept;
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

/* Wakes up all lanes that wait. */
static void announce(struct replay_state *state, bool *event)
{
    pthread_mutex_lock(&state->mutex);
    if (event)
        *event = true;
    pthread_cond_broadcast(&state->progress);
    pthread_mutex_unlock(&state->mutex);
}

/* False if another lane failed. */
static bool wait_for_lanes(struct lane *lane, const struct trace_request *request)
{
    struct replay_state *state = lane->state;
    const struct trace_wait *wait = state->replay->trace->wait + request->first_wait;
    bool failed = false;
    for (int i = 0; i < request->waits && !failed; i++) {
        atomic_size_t *done = &state->lane[wait[i].lane].done;
        if (atomic_load_explicit(done, memory_order_acquire) >= wait[i].requests)
            continue;
        pthread_mutex_lock(&state->mutex);
        while (!(failed = state->failed) && atomic_load_explicit(done, memory_order_acquire) < wait[i].requests)
            pthread_cond_wait(&state->progress, &state->mutex);
        pthread_mutex_unlock(&state->mutex);
    }
    return !failed;
}

/* All requests of a lane in their order. */
static void run_lane(struct lane *lane)
{
    struct replay_state *state = lane->state;
    const struct replay *replay = state->replay;
    int64_t before = -replay->late; /* end of the lane's last request in the recording */
    const struct trace_request *request;
    for (size_t i = replay->trace->lane_first[lane->number]; i != TRACE_NO_REQUEST; i = request->next) {
        request = &replay->trace->request[i];
        const double thought = request->at > before ? nanosecond * (double)(request->at - before) : 0;
        before = request->at + request->duration > before ? request->at + request->duration : before;
        lane->thought += thought;
        if (replay->think && thought > 0)
            think(lane, thought);
        if (!wait_for_lanes(lane, request))
            return;
        if (!replay_request(lane, request)) {
            announce(state, &state->failed);
            return;
        }
        if (request->awaited) {
            atomic_store_explicit(&lane->done, request->ordinal, memory_order_release);
            announce(state, NULL);
        }
    }
}

static void *start_lane(void *context)
{
    struct lane *lane = context;
    struct replay_state *state = lane->state;
    pthread_mutex_lock(&state->mutex);
    while (!state->started)
        pthread_cond_wait(&state->progress, &state->mutex);
    pthread_mutex_unlock(&state->mutex);
    run_lane(lane);
    return NULL;
}

/* Lane 0 is this thread. The others exist before the clock starts; signals are for this one. */
static void create_threads(struct replay_state *state)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 1; i < state->replay->trace->lanes; i++) {
        const int error = pthread_create(&state->lane[i].thread, NULL, start_lane, &state->lane[i]);
        if (error)
            stop(state->replay, NULL, "create a thread", error);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void run_lanes(struct replay_state *state)
{
    const struct replay *replay = state->replay;
    announce(state, &state->started);
    run_lane(&state->lane[0]);
    for (int i = 1; i < replay->trace->lanes; i++)
        pthread_join(state->lane[i].thread, NULL);
    for (int i = 0; i < replay->trace->lanes; i++)
        if (state->lane[i].failed)
            stop(replay, state->lane[i].failed, state->lane[i].what, state->lane[i].error);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

enum { TURN_TAG = 17, POLL_NANOSECONDS = 50000 };

#if HAVE_MPI
/* Without using the processor, which those that run may need. */
static void wait_for_turn(const struct turns *turns)
{
    for (int i = 0; i < turns->before_count; i++) {
        int done = 0;
        MPI_Request request;
        MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, turns->before[i], TURN_TAG, MPI_COMM_WORLD, &request));
        for (;;) {
            MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            if (done)
                break;
            nanosleep(&(struct timespec){.tv_nsec = POLL_NANOSECONDS}, NULL);
        }
    }
}
#else
static void wait_for_turn(const struct turns *turns)
{
    (void)turns;
}
#endif

static void give_turn(const struct turns *turns)
{
    for (int i = 0; i < turns->after_count; i++)
        MPI_CHECK(MPI_Send(NULL, 0, MPI_BYTE, turns->after[i], TURN_TAG, MPI_COMM_WORLD));
}

/* Synchronises written files that the program did not synchronise itself. */
static double synchronise_all(const struct replay *replay)
{
    const struct trace *trace = replay->trace;
    char path[PATH_MAX];
    const double begin = now_seconds();
    for (size_t i = 0; i < trace->files; i++) {
        if (trace->file[i].space_bytes == trace->file[i].bytes && trace->file[i].exists)
            continue;
        replay_path(replay, (int)i, path);
        const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (descriptor >= 0 && (fsync(descriptor) != 0 || close(descriptor) != 0))
            stop(replay, NULL, "synchronise", errno);
    }
    return now_seconds() - begin;
}

static void note_all(const struct replay_state *state, double synchronised)
{
    struct priomark *run = state->replay->run;
    const struct trace *trace = state->replay->trace;
    struct lane sum = {0};
    for (int i = 0; i < trace->lanes; i++) {
        const struct lane *lane = &state->lane[i];
        sum.thought += lane->thought;
        sum.slept += lane->slept;
        sum.differing += lane->differing;
        sum.repositioned += lane->repositioned;
        if (lane->synchronised > sum.synchronised) /* lanes synchronise at the same time */
            sum.synchronised = lane->synchronised;
    }
    for (size_t i = 0; i < trace->requests; i++)
        if (state->outcome[i].moved)
            priomark_request(run, state->outcome[i].kind, state->outcome[i].bytes, state->outcome[i].seconds);
    priomark_phase(run, PRIOMARK_SYNC, sum.synchronised + synchronised);
    priomark_value(run, "think_seconds", sum.thought);
    priomark_value(run, "slept_seconds", sum.slept);
    priomark_value(run, "differing_results", (double)sum.differing);
    priomark_value(run, "repositioned", (double)sum.repositioned);
    priomark_value(run, "threads", trace->lanes);
    for (int i = 0; i < TRACE_UNSEEN_KINDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "unseen_%s", trace_unseen_names[i]);
        priomark_value(run, name, (double)trace->unseen[i]);
    }
}

void replay_trace(const struct replay *replay)
{
    struct replay_state state = {
        .replay = replay, .mutex = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER};
    get_memory(&state);
    for (size_t i = 0; i < replay->trace->files; i++)
        prepare_file(replay, (int)i);
    priomark_barrier(replay->run);
    open_inherited(&state);
    create_threads(&state);
    priomark_begin(replay->run);
    wait_for_turn(&replay->turns);
    run_lanes(&state);
    give_turn(&replay->turns);
    const double synchronised = replay->sync ? synchronise_all(replay) : 0;
    priomark_end(replay->run);
    note_all(&state, synchronised);
    tidy_up(&state);
}
