/* SPDX-License-Identifier: Apache-2.0 */
/* Who does what in a run under load: a random share of the nodes are victims, whose processes are measured;
 * the processes of all other nodes generate the load. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "nodes.h"
#include "options.h"

#define OPTION_VICTIMS(percent) \
    PERCENT_OPTION("victims", percent, 1, 99, "share of the nodes that are measured, chosen by the seed; default: 50%")

struct load {
    uint64_t kinds; /* a bit per kind */
    int victims;    /* percent of the nodes */
    const struct nodes *nodes;
    bool *is_victim;      /* each node */
    MPI_Comm measured;    /* the processes of the victims; else MPI_COMM_NULL */
    int measured_ranks;   /* their number */
    MPI_Comm generators;  /* the others, and MPI_COMM_NULL on those that are measured */
    int *generating_node; /* the node of each process of `generators`, numbered from 0 among the nodes that generate */
    int generating_nodes;
    MPI_Comm control; /* all processes: messages that begin and end the load */
};

/* Selects `percent` of the nodes as victims, half of them if it is 0: the first one, whose first process writes the
 * log, and others by the seed. Refuses the run if fewer than `fewest` nodes have one of the roles. Collective. */
struct load load_begin(const struct nodes *nodes, uint64_t kinds, int64_t percent, uint64_t seed, int fewest);
void load_end(struct load *load);

/* The log's description. `names` are those of the kinds, NULL-terminated. Rank 0. */
json_t *load_json(const struct load *load, const char *const names[]);

/* --- a phase under load ------------------------------------------------------------------------------------------- */

enum load_tag { TAG_LOAD = 1, TAG_READY, TAG_STOP };
enum { REASON_BYTES = 512 };

/* What a generating process moved from the time when its load was there until it was told to stop. Of files: sent is
 * written, received is read. */
struct traffic {
    double seconds;
    int64_t sent_bytes, received_bytes;
    int64_t cached_bytes;      /* of a file, that were in the page cache when they were to be read */
    bool sends, silent;        /* it has processes to send to, or a file; it moved nothing in this time */
    char reason[REASON_BYTES]; /* why a file could not be written or read; "" */
};

/* On rank 0 while all generating processes generate: waits until the load of each is there, and tells each to stop. */
void await_generators(const struct load *load);
void stop_generators(const struct load *load);

/* Ends the run if a process has a reason. Collective over MPI_COMM_WORLD. */
void load_stop_on_reason(struct traffic *mine);

/* What all generating processes moved. Zeros are the traffic of victims. */
struct totals {
    double longest_seconds, shortest_seconds; /* of a generating process */
    int64_t sent_bytes, received_bytes, cached_bytes;
    int64_t senders, silent_senders; /* processes */
};

/* Collective over MPI_COMM_WORLD. */
struct totals load_totals(const struct traffic *mine);

/* Their fields in the log, except `cached_bytes`. */
json_t *load_totals_json(const struct totals *totals);
