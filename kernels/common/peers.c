/* SPDX-License-Identifier: Apache-2.0 */
/* See peers.h. The memory has no name: others open it through the leader's entry in /proc, which also shows that they
 * see the same process numbers. */
#include "peers.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fail.h"
#include "gather.h"
#include "memory.h"
#include "process_state.h"

struct node {
    uint64_t number;         /* random, to recognise the memory */
    pid_t launcher;          /* what started the first process */
    pid_t starter;           /* the mpiexec that started this launcher; 0: none on this node */
    bool launches;           /* that it is a launcher */
    int peers, ranks, nodes; /* peers of the run's ranks */
    struct peer peer[];
};

enum { LOWEST_FILE = 16 }; /* above those that a keeper inherits under fixed numbers */
enum { HIGH_FILE = 4096 }; /* above those of launchers, of which Hydra opens four for each process */
enum { INPUT, LAUNCHER, STARTER, FIRST_PEER }; /* places of what a keeper watches */

/* Global, because a handler has no arguments for it. */
static struct {
    struct node *node;
    struct peer *own;
    int file;
    /* Keeper: */
    struct pollfd *ends; /* by place; that of the input is not used */
    struct epoll_event *events;
    int watch, alive, lost, first_lost;
    bool whole, input, launcher_ended;
} here = {.file = -1, .first_lost = NO_PEER};

static size_t node_bytes(int peers)
{
    return sizeof(struct node) + (size_t)peers * sizeof(struct peer);
}

static struct node *map(int file, size_t bytes)
{
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Rank 0 of a node. Returns the number by which others recognise the memory; 0: there is none. */
static uint64_t create(int peers)
{
    uint64_t number = 0;
    const int file = memfd_create("peers", MFD_CLOEXEC);
    here.file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, LOWEST_FILE);
    close(file);
    if (here.file >= 0 && ftruncate(here.file, (off_t)node_bytes(peers)) == 0)
        here.node = map(here.file, node_bytes(peers));
    if (!here.node || getrandom(&number, sizeof number, 0) != sizeof number)
        return 0;
    here.node->number = number;
    here.node->launcher = getppid();
    here.node->launches =
        here.node->launcher > 1 && process_has_rank(getpid()) && !process_has_rank(here.node->launcher);
    here.node->starter = here.node->launches ? process_mpiexec(here.node->launcher) : 0;
    here.node->peers = peers;
    return number;
}

static void join(const int64_t leader[2], uint64_t number, int peers)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)leader[0], (int)leader[1]);
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size == (off_t)node_bytes(peers))
        here.node = map(file, node_bytes(peers));
    if (file >= 0)
        close(file);
    if (here.node && here.node->number != number)
        here.node = NULL;
}

/* Returns an end of a pipe that shows to the keeper's end when this process ends, negative if there is none. Linux
 * closes the highest file of such a process first: by the others, launchers and processes notice the end later. */
static int open_pipe(void)
{
    int ends[2];
    const long limit = sysconf(_SC_OPEN_MAX);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const int high = fcntl(ends[1], F_DUPFD_CLOEXEC, limit > HIGH_FILE ? HIGH_FILE : limit - 1);
    close(ends[0]);
    close(ends[1]);
    return high;
}

void peers_begin(int leader)
{
    uint64_t number = 0;
    if (!buffers_hold_data) /* simulated processes are one */
        return;
    MPI_Comm comm = node_communicator(leader);
    const int own = rank_in(comm), peers = size_of(comm);
    if (own == 0)
        number = create(peers);
    if (here.node)
        here.node->ranks = size_of(MPI_COMM_WORLD);
    int64_t place[] = {getpid(), here.file};
    MPI_CHECK(MPI_Bcast(place, 2, MPI_INT64_T, 0, comm));
    MPI_CHECK(MPI_Bcast(&number, sizeof number, MPI_BYTE, 0, comm));
    if (own != 0 && number)
        join(place, number, peers);
    if (here.node && number) {
        here.own = &here.node->peer[own];
        here.own->rank = rank_in(MPI_COMM_WORLD);
        here.own->pipe = open_pipe();
        here.own->process = getpid();
    }
    MPI_CHECK(MPI_Barrier(comm));
    MPI_CHECK(MPI_Comm_free(&comm));
}

void peers_vote(bool sees_log)
{
    int nodes = sees_log && here.own && here.own == here.node->peer;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (here.own)
        here.node->nodes = nodes;
}

void peers_enter(double patience_seconds, const char *format, ...)
{
    va_list values;
    if (!here.own)
        return;
    va_start(values, format);
    vsnprintf(here.own->place, sizeof here.own->place, format, values);
    va_end(values);
    here.own->patience_seconds = (int)patience_seconds;
    here.own->calls = 0;
    here.own->offset = UNKNOWN_OFFSET;
    here.own->sources = 0;
    here.own->steps += 1 + here.own->steps % 2;
}

atomic_long *peers_receive(int sources, const int source[], bool in_order)
{
    static atomic_long unused;
    if (!here.own)
        return &unused;
    here.own->in_order = in_order;
    for (int i = 0; i < sources; i++)
        here.own->source[i] = source[i];
    here.own->sources = sources;
    return &here.own->calls;
}

void peers_arrive(void)
{
    if (here.own)
        here.own->steps++;
}

void peers_continue(void)
{
    peers_arrive();
}

void peers_access(const char *path)
{
    if (here.own)
        snprintf(here.own->file, sizeof here.own->file, "%s", path);
}

void peers_progress(int64_t calls, int64_t offset)
{
    if (!here.own)
        return;
    atomic_store_explicit(&here.own->calls, (long)calls, memory_order_relaxed);
    atomic_store_explicit(&here.own->offset, offset, memory_order_relaxed);
}

void peers_leave(int number)
{
    if (here.own)
        here.own->left = number > 0 ? number : LEFT;
}

int peers_signal(void)
{
    const struct peer *first = here.node ? here.node->peer : NULL;
    return first && first->rank == 0 && first->left > 0 ? first->left : 0;
}

int peers_lost(void)
{
    int lost = NO_PEER;
    if (here.ends)
        return here.lost > 1 && !here.whole ? SEVERAL_PEERS : here.first_lost;
    for (int i = 0; here.node && i < here.node->peers; i++) {
        const struct peer *peer = &here.node->peer[i];
        if (peer->process && !peer->left && kill(peer->process, 0) != 0 && errno == ESRCH)
            lost = lost == NO_PEER ? peer->rank : SEVERAL_PEERS;
    }
    return lost;
}

bool peers_several_lost(void)
{
    return here.lost > 1;
}

int peers_file(void)
{
    return here.file;
}

/* A negative number, which poll() ignores, where the system has no such descriptors. */
static struct pollfd end_of(pid_t process)
{
#ifdef SYS_pidfd_open
    return (struct pollfd){.fd = process ? (int)syscall(SYS_pidfd_open, process, 0) : -1, .events = POLLIN};
#else
    (void)process;
    return (struct pollfd){.fd = -1};
#endif
}

static bool watch(int file, int place, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = (uint32_t)place};
    return file >= 0 && epoll_ctl(here.watch, EPOLL_CTL_ADD, file, &event) == 0;
}

static void begin_watch(int file)
{
    const int peers = here.node->peers;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* two for each peer */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    here.ends = allocate((size_t)peers + FIRST_PEER, sizeof *here.ends);
    here.events = allocate((size_t)peers + FIRST_PEER, sizeof *here.events);
    here.watch = epoll_create1(EPOLL_CLOEXEC);
    here.ends[LAUNCHER] = end_of(here.node->launcher);
    here.ends[STARTER] = end_of(here.node->starter);
    watch(file, INPUT, EPOLLIN);
    watch(here.ends[LAUNCHER].fd, LAUNCHER, EPOLLIN | EPOLLET);
    for (int i = 0; i < peers; i++) {
        const struct peer *peer = &here.node->peer[i];
        char path[64];
        here.ends[FIRST_PEER + i] = end_of(peer->process);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer->process, peer->pipe);
        here.alive += watch(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), FIRST_PEER + i, EPOLLET);
    }
    here.whole = here.alive == here.node->ranks;
}

/* Returns the number of events, or a negative number. Linux lists them in the order in which they happened, each once,
 * however late the keeper reads them. */
static int read_events(int milliseconds)
{
    const int events = epoll_wait(here.watch, here.events, here.node->peers + FIRST_PEER, milliseconds);
    here.input = false;
    for (int i = 0; i < events; i++) {
        const int place = (int)here.events[i].data.u32;
        here.input |= place == INPUT;
        here.launcher_ended |= place == LAUNCHER && here.alive > 0;
        if (place < FIRST_PEER)
            continue;
        const struct peer *peer = &here.node->peer[place - FIRST_PEER];
        here.alive--;
        if (!peer->left && here.lost++ == 0)
            here.first_lost = peer->rank;
    }
    return events;
}

void peers_adopt(int file)
{
    struct stat status;
    if (fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof(struct node))
        here.node = map(file, (size_t)status.st_size);
}

bool peers_watch(int file, bool (*look)(void))
{
    if (!here.node)
        return false; /* the caller waits */
    if (!here.ends)
        begin_watch(file);
    for (;;) {
        const bool ended = here.lost > 0 || here.launcher_ended;
        const int events = read_events(ended ? 0 : look ? PEERS_LOOK_MS : -1);
        if (events < 0 && errno != EINTR)
            return false; /* the caller waits */
        /* input comes first: it tells where to leave a note about an end that is found at the same time */
        if (here.input)
            return false;
        if (ended || here.lost > 0 || here.launcher_ended)
            return true;
        /* nothing ended: no files of /proc are read while the processes measure */
        if (events == 0 && look && look())
            return false;
    }
}

bool peers_launcher_ended(void)
{
    return here.launcher_ended;
}

const struct peer *peers_all(int *count)
{
    *count = here.node ? here.node->peers : 0;
    return here.node ? here.node->peer : NULL;
}

int peers_nodes(void)
{
    return here.node ? here.node->nodes : 1;
}

/* To this very process, also if its number is used again; the place is one of here.ends. */
static void send_signal(int place, int number)
{
#if defined SYS_pidfd_send_signal
    if (here.ends && here.ends[place].fd >= 0)
        syscall(SYS_pidfd_send_signal, here.ends[place].fd, number, NULL, 0);
#else
    (void)place;
    (void)number;
#endif
}

void peers_kill(int number)
{
    send_signal(FIRST_PEER + number, SIGKILL);
}

/* Whether these places of here.ends have ended, at the latest after this time. */
static bool await(int first, int count, int milliseconds)
{
    const double latest = now_seconds() + 1e-3 * milliseconds;
    for (int i = first; i < first + count; i++) {
        const double left = latest - now_seconds();
        if (here.ends[i].fd >= 0 && poll(&here.ends[i], 1, left > 0 ? (int)(1e3 * left) : 0) == 0)
            return false;
    }
    return true;
}

bool peers_await_ends(int milliseconds)
{
    const bool ended = await(FIRST_PEER, here.ends ? here.node->peers : 0, milliseconds);
    if (here.ends)
        read_events(0);
    return ended;
}

bool peers_await_launcher(int milliseconds)
{
    return await(LAUNCHER, here.ends ? 1 : 0, milliseconds);
}

void peers_signal_launcher(int number)
{
    if (here.node && here.node->launches) {
        send_signal(LAUNCHER, number);
        send_signal(STARTER, number);
    }
}
