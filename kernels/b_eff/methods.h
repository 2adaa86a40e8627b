/* SPDX-License-Identifier: Apache-2.0 */
/* The methods by which a pattern's messages are exchanged (paper, section 4). One row of a table per method. Everything
 * that a method requires is prepared once per pattern or before a loop, so that only its MPI calls are timed. */
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "patterns.h"

/* Where the messages of a loop are: exchange i uses place i mod places, its transfer j the slot j of that place. */
struct walk {
    char *send, *receive; /* the first place */
    int bytes;            /* of a message */
    size_t stride;        /* from slot to slot */
    size_t step;          /* from place to place */
    long places;
};

/* A pattern on this rank, and the data that the methods prepared for it. On a rank that does not take part, `comm` is
 * MPI_COMM_NULL and there are no transfers. */
struct exchange {
    const struct pattern *pattern;
    MPI_Comm all; /* the processes that are measured together, whether they take part in the pattern or not */
    MPI_Comm comm;
    int position, size; /* in `comm` */
    bool takes_turns;   /* see struct layout */
    int transfers;      /* messages that this rank sends, and receives, in one exchange */
    int slots;          /* per place: the transfers of the rank with the most */
    struct transfer transfer[MOST_TRANSFERS];
    int source[MOST_TRANSFERS]; /* world rank of the sender of each transfer; MPI_PROC_NULL: nothing is received */
    int *counts;    /* alltoallv: send counts, send offsets, receive counts, receive offsets, `size` of each */
    MPI_Comm graph; /* neighbor: created at first use */
    int graph_counts[MOST_TRANSFERS], graph_offsets[MOST_TRANSFERS];
    MPI_Request *started;  /* persistent: the requests of all places, one place after the other */
    int requests;          /* persistent: per place */
    atomic_long *received; /* messages of this loop so far, for the keeper; see peers_receive() */
    double *each_seconds;  /* of each exchange of a loop; NULL: only whole loops are timed */
    double day_seconds;    /* of the last loop, by the time of day */
};

struct method {
    const char *name;
    bool averaged;
    bool in_order;    /* receives one message after the other */
    long most_places; /* 0: any number */
    bool (*applies)(const struct pattern *pattern);
    void (*prepare)(struct exchange *exchange, const struct walk *walk);
    void (*exchange)(struct exchange *exchange, const struct walk *walk, long place);
    void (*clean)(struct exchange *exchange, const struct walk *walk);
};

enum { METHOD_NONBLOCKING = 2, METHODS = 5 + HAVE_MPI_NEIGHBORHOODS, METHOD_BLOCKING = METHODS - 1 };
extern const struct method methods[METHODS + 1]; /* ended by a row without a name */

/* Collective over `all`. `order` as for pattern_layout(). */
struct exchange exchange_open(const struct pattern *pattern, MPI_Comm all, uint64_t seed, int *order);
void exchange_close(struct exchange *exchange);
