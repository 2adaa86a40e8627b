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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fail.h"
#include "first_line.h"
#include "memory.h"

struct node {
    uint64_t number; /* random, to recognise the memory */
    pid_t launcher;  /* what started the first process */
    bool launches;   /* that it is a launcher */
    int peers, nodes;
    struct peer peer[];
};

enum { LOWEST_FILE = 16 }; /* above those that a keeper inherits under fixed numbers */
enum { LONGEST_END_MS = 1000 };

/* Global, because a handler has no arguments for it. */
static struct {
    struct node *node;
    struct peer *own;
    int file;
    struct pollfd *ends; /* keeper: the input, the launcher and the peers */
} here = {.file = -1};

static size_t node_bytes(int peers)
{
    return sizeof(struct node) + (size_t)peers * sizeof(struct peer);
}

static struct node *map(int file, size_t bytes)
{
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Whether a process was given a rank when it was started; also if its environment cannot be read. Only a launcher gives
 * a rank without having one. MPI_Init does not change what /proc shows. */
static bool has_rank(pid_t process)
{
    static const char *const names[] = {"PMIX_RANK=", "PMI_RANK="};
    char path[64], *entry = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    while (!found && getdelim(&entry, &room, '\0', file) > 0)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            found |= strncmp(entry, names[i], strlen(names[i])) == 0;
    free(entry);
    fclose(file);
    return found;
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
    here.node->launches = here.node->launcher > 1 && has_rank(getpid()) && !has_rank(here.node->launcher);
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

void peers_begin(int leader)
{
    MPI_Comm comm;
    int rank, own, peers;
    uint64_t number = 0;
    if (!buffers_hold_data) /* simulated processes are one */
        return;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, leader, rank, &comm));
    MPI_CHECK(MPI_Comm_rank(comm, &own));
    MPI_CHECK(MPI_Comm_size(comm, &peers));
    if (own == 0)
        number = create(peers);
    int64_t place[] = {getpid(), here.file};
    MPI_CHECK(MPI_Bcast(place, 2, MPI_INT64_T, 0, comm));
    MPI_CHECK(MPI_Bcast(&number, sizeof number, MPI_BYTE, 0, comm));
    if (own != 0 && number)
        join(place, number, peers);
    if (here.node && number) {
        here.own = &here.node->peer[own];
        here.own->rank = rank;
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

void peers_leave(void)
{
    if (here.own)
        here.own->left = 1;
}

/* Whether a process has begun to end. The launcher may see that, and end the others, before the process has ended. */
static bool is_ending(pid_t process)
{
    enum { PF_EXITING = 0x4 }; /* of Linux, whose programs have no header for it */
    char line[512];
    unsigned flags = 0;
    read_first_line(line, sizeof line, "/proc/%d/stat", (int)process);
    const char *name_end = strrchr(line, ')');
    return name_end && sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & PF_EXITING);
}

static bool is_lost(int i)
{
    const struct peer *peer = &here.node->peer[i];
    if (!peer->process || peer->left)
        return false;
    if (here.ends)
        return here.ends[2 + i].revents != 0 || is_ending(peer->process);
    return kill(peer->process, 0) != 0 && errno == ESRCH; /* in a signal handler, which may not read files */
}

int peers_lost(void)
{
    int lost = NO_PEER;
    for (int i = 0; here.node && i < here.node->peers; i++) {
        if (!is_lost(i))
            continue;
        if (lost != NO_PEER)
            return SEVERAL_PEERS;
        lost = here.node->peer[i].rank;
    }
    return lost;
}

int peers_file(void)
{
    return here.file;
}

/* A negative number, which poll() ignores, where the system has no such descriptors. */
static int descriptor_of(pid_t process)
{
#ifdef SYS_pidfd_open
    return process ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
#else
    (void)process;
    return -1;
#endif
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
    const int peers = here.node->peers;
    if (!here.ends) {
        here.ends = allocate((size_t)peers + 2, sizeof *here.ends);
        here.ends[0] = (struct pollfd){.fd = file, .events = POLLIN};
        here.ends[1] = (struct pollfd){.fd = descriptor_of(here.node->launcher), .events = POLLIN};
        for (int i = 0; i < peers; i++)
            here.ends[2 + i] = (struct pollfd){.fd = descriptor_of(here.node->peer[i].process), .events = POLLIN};
    }
    for (;;) {
        const int ready = poll(here.ends, (nfds_t)peers + 2, look ? PEERS_LOOK_MS : -1);
        if (ready < 0) {
            if (errno == EINTR)
                continue;
            return false; /* more peers than this process may have open files: the caller waits */
        }
        if (ready == 0) {
            if (look && look())
                return false;
            continue; /* nothing ended, so no files of /proc are read while the processes measure */
        }
        if (peers_lost() != NO_PEER || peers_launcher_ended())
            return true;
        if (here.ends[0].revents)
            return false;
        for (int i = 0; i < peers; i++)
            if (here.ends[2 + i].revents) /* it ended by itself, or at once with others */
                here.ends[2 + i].fd = -1;
    }
}

void peers_look(void)
{
    if (!here.ends)
        return;
    poll(&here.ends[2], 1, LONGEST_END_MS);
    poll(here.ends, (nfds_t)here.node->peers + 2, 0);
}

bool peers_launcher_ended(void)
{
    return here.ends && here.ends[1].revents;
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
    send_signal(2 + number, SIGKILL);
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
    return await(2, here.ends ? here.node->peers : 0, milliseconds);
}

bool peers_await_launcher(int milliseconds)
{
    return await(1, here.ends ? 1 : 0, milliseconds);
}

void peers_signal_launcher(int number)
{
    if (here.node && here.node->launches)
        send_signal(1, number);
}
