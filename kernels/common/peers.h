/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a node, in memory that they share, so that one that ends without a word is known: it was killed or
 * crashed. A process that ends by itself says so before; so a process that is late never takes others for killed. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LEFT = -1, PLACE_BYTES = 160, UNKNOWN_OFFSET = -1, MOST_SOURCES = 6 };

/* A process as its node's keeper sees it. */
struct peer {
    pid_t process; /* 0: it does not share this memory */
    int rank;
    int pipe;                    /* number of its file that closes when it ends */
    atomic_int left;             /* it ends by itself: the number of the signal, or LEFT */
    atomic_long steps;           /* changes of its place; even while it only waits for others */
    atomic_long calls;           /* in this loop: accesses to files, counted now and then, or messages received */
    int sources;                 /* of the messages of each exchange of this loop, which come in this order; 0: none */
    bool in_order;               /* the process waits for one message after the other, not for all of them at once */
    int source[MOST_SOURCES];    /* ranks, negative where no message is received */
    atomic_int_least64_t offset; /* of the next access in the file; UNKNOWN_OFFSET */
    atomic_int patience_seconds; /* until a loop without progress is a hang */
    char place[PLACE_BYTES];     /* what the process measures, as text; printable, without characters to escape */
    char file[PATH_MAX];         /* that it accesses; "": none */
};

enum { NO_PEER = -1, SEVERAL_PEERS = -2 };

/* Collective over MPI_COMM_WORLD; `leader` is the first rank of this process's node. Where the processes of a node
 * cannot share memory, nothing is known of them. */
void peers_begin(int leader);

/* Collective, when the log is open: whether this process sees it. A node's keeper can vote (see hang.h) if its first
 * process does. */
void peers_vote(bool sees_log);

/* Before each loop that is measured: how long it may take, and where the process is (see struct peer); and after it,
 * unless the process enters another place at once. */
void peers_enter(double patience_seconds, const char *format, ...) __attribute__((format(printf, 2, 3)));
void peers_arrive(void);

/* Within a loop: each exchange receives a message of each of these ranks (see struct peer); with 0, the process now
 * waits for all others. Returns the counter that the loop sets to the number of messages received: by plain stores, as
 * it is between timed calls. */
atomic_long *peers_receive(int sources, const int source[], bool in_order);

/* After peers_arrive(): the process continues where it was, for example after it waited for others. */
void peers_continue(void);

/* The file that this process accesses from now on. */
void peers_access(const char *path);

/* Within a loop of accesses to files, from time to time: so many were made, and the next one is at `offset`. */
void peers_progress(int64_t calls, int64_t offset);

/* This process ends by itself, because of a signal unless `number` is 0. Safe in a signal handler. */
void peers_leave(int number);

/* Keeper: the number of the signal by which rank 0 began to end; 0: none, or rank 0 is on another node. */
int peers_signal(void);

/* The rank of the process of this node that is gone without peers_leave(), to a keeper also if it has only begun to
 * end; NO_PEER if there is none. Of several ones, the first to a keeper on whose node all processes of the run are,
 * otherwise SEVERAL_PEERS. Safe in a signal handler. */
int peers_lost(void);

/* Keeper: more than one process of this node is gone in this way. */
bool peers_several_lost(void);

/* The shared memory for this process's keeper, negative if there is none. */
int peers_file(void);

/* Keeper: takes the shared memory, and waits for input on `file` or until peers_lost() or peers_launcher_ended(). True
 * in the latter case, without input. Calls `look` every PEERS_LOOK_MS meanwhile; if that is true, returns false as for
 * input. */
enum { PEERS_LOOK_MS = 1000 };
void peers_adopt(int file);
bool peers_watch(int file, bool (*look)(void));

/* Keeper: the processes of this node; none where they share no memory. */
const struct peer *peers_all(int *count);

/* Keeper: number of nodes that can vote. */
int peers_nodes(void);

/* Keeper: ends the process by SIGKILL, unless it has ended. */
void peers_kill(int number);

/* Keeper: waits until all processes of this node have ended; false if they have not within this time. */
bool peers_await_ends(int milliseconds);

/* Keeper: the same of the process that started this node's first rank. */
bool peers_await_launcher(int milliseconds);

/* Keeper: sends it, and the mpiexec that started it, a signal if it is a launcher; a shell or script that started the
 * run without one gets none. */
void peers_signal_launcher(int number);

/* Keeper: the process that started this node's first rank, which is the launcher or its daemon, has ended before all
 * processes of this node had. */
bool peers_launcher_ended(void);
