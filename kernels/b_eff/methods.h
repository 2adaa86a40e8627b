/* The methods by which a pattern's messages are exchanged (paper, section 4; spec: "Methods"). One row of a table per
 * method; what a method needs is made once per pattern or before a loop, so that only its MPI calls are timed. */
#ifndef B_EFF_METHODS_H
#define B_EFF_METHODS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "patterns.h"

/* Where the messages of a loop lie: exchange i uses place i mod places, transfer j of it the slot j of that place. */
struct walk {
    char *send, *receive; /* the first place */
    int bytes;            /* of a message */
    size_t stride;        /* from slot to slot */
    size_t step;          /* from place to place */
    long places;
};

/* What the processes do at the same time within a pattern, and what the methods prepared for it. */
struct stage {
    int transfers;
    struct transfer transfer[MOST_TRANSFERS];
    MPI_Comm comm;
    int *counts;          /* alltoallv: send counts, send offsets, receive counts, receive offsets, `size` of each */
    int size;             /* of comm */
    MPI_Comm graph;       /* neighbor: made at first use */
    int graph_counts[MOST_TRANSFERS], graph_send_offsets[MOST_TRANSFERS], graph_receive_offsets[MOST_TRANSFERS];
    MPI_Request *started; /* persistent: the requests of all places, one place after the other */
    int requests;         /* persistent: per place */
};

/* A pattern made ready on this rank. `stages` is 0 on a rank without a part. */
struct exchange {
    const struct pattern *pattern;
    MPI_Comm comm;
    int stages, slots;
    struct stage stage[MOST_STAGES];
    int source[MOST_STAGES][MOST_TRANSFERS]; /* world rank that a transfer receives from, or MPI_PROC_NULL */
};

struct method {
    const char *name;
    bool averaged;
    long most_places; /* 0: any number */
    bool (*applies)(const struct pattern *pattern);
    void (*prepare)(struct stage *stage, const struct walk *walk);
    void (*exchange)(struct stage *stage, const struct walk *walk, long place);
    void (*clean)(struct stage *stage, const struct walk *walk);
};

enum { METHODS = 5 + HAVE_MPI_NEIGHBORHOODS };
extern const struct method methods[METHODS];
extern const char *const method_names[]; /* NULL-terminated, in the order of `methods` */

/* Collective over MPI_COMM_WORLD. `order` as for pattern_layout(). */
struct exchange exchange_open(const struct pattern *pattern, uint64_t seed, int *order);
void exchange_close(struct exchange *exchange);

#endif
