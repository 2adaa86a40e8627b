/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a node, in memory that they share, so that one that ends without a word is known: it was killed or
 * crashed. A process that ends by itself says so before; so a process that is late never takes others for killed. */
#ifndef COFFEECUP_PEERS_H
#define COFFEECUP_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PLACE_BYTES = 160 };

/* A process as its node's keeper sees it. */
struct peer {
    pid_t process; /* 0: it does not share this memory */
    int rank;
    atomic_int left;
    atomic_long steps;           /* loops begun and ended, so odd within one; 0: before the first one */
    atomic_int patience_seconds; /* until a loop that does not end is a hang */
    char place[PLACE_BYTES];     /* what the process measures, as text; printable, without characters to escape */
};

enum { NO_PEER = -1, SEVERAL_PEERS = -2 };

/* Collective over MPI_COMM_WORLD; `leader` is the first rank of this process's node. Where the processes of a node
 * cannot share memory, nothing is known of them. */
void peers_begin(int leader);

/* Before and after each loop that is measured: how long it may take, and where the process is (see struct peer). */
void peers_enter(double patience_seconds, const char *format, ...) __attribute__((format(printf, 2, 3)));
void peers_arrive(void);

/* This process ends by itself. Safe in a signal handler. */
void peers_leave(void);

/* The rank of the process of this node that is gone without peers_leave(), to a keeper also if it has only begun to
 * end; NO_PEER or SEVERAL_PEERS if it is not exactly one. Safe in a signal handler. */
int peers_lost(void);

/* The shared memory for this process's keeper, negative if there is none. */
int peers_file(void);

/* Keeper: takes the shared memory, and waits for input on `file` or until peers_lost() or peers_launcher_ended(). True
 * in the latter case. Calls `look` every PEERS_LOOK_MS meanwhile; if that is true, returns false as for input. */
enum { PEERS_LOOK_MS = 1000 };
void peers_adopt(int file);
bool peers_watch(int file, bool (*look)(void));

/* Keeper: the processes of this node; none where they share no memory. */
const struct peer *peers_all(int *count);

/* Keeper: number of nodes of the run. */
int peers_nodes(void);

/* Keeper: ends the process by SIGKILL, unless it has ended. */
void peers_kill(int number);

/* Keeper: looks again when the first process of the node is ending, whose files are closed before it has ended. */
void peers_look(void);

/* Keeper: the process that started this node's first rank, which is the launcher or its daemon, has ended. */
bool peers_launcher_ended(void);

#endif
