/* SPDX-License-Identifier: Apache-2.0 */
/* Who does what in a run under load (--load): a random share of the nodes are victims, whose processes run b_eff's
 * patterns; the processes of all other nodes generate the load. */
#ifndef B_EFF_LOAD_H
#define B_EFF_LOAD_H

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "nodes.h"
#include "options.h"

enum load_kind { LOAD_INCAST, LOAD_ALLTOALL, LOAD_BROADCAST, LOAD_IO, LOAD_KINDS };
extern const char *const load_kind_names[]; /* NULL-terminated, indexed by enum load_kind */

enum { FEWEST_NODES_OF_A_ROLE = 2, SENDS_AT_ONCE = 2 /* of a generating process */ };
enum { FILE_LOAD_BYTES = 1 << 20 /* the file of a generating process, and what it writes or reads at once */ };

/* The three rows of the table of options. */
#define LOAD_OPTIONS(kinds, percent, path)                                                                           \
    {"load",                                                                                                         \
     OPTION_LIST,                                                                                                    \
     kinds,                                                                                                          \
     "LIST",                                                                                                         \
     "kinds of load: measure half of the nodes without load, and while the other half generates it. The result\n"    \
     "        is the factor by which the load slows down communication; there is no b_eff of the machine",           \
     0,                                                                                                              \
     0,                                                                                                              \
     load_kind_names},                                                                                               \
        {"victims",                                                                                                  \
         OPTION_PERCENT,                                                                                             \
         percent,                                                                                                    \
         "SHARE",                                                                                                    \
         "share of the nodes that --load measures, chosen by the seed; default: 50%",                                \
         1,                                                                                                          \
         99,                                                                                                         \
         NULL},                                                                                                      \
    {                                                                                                                \
        "directory", OPTION_TEXT, path, "DIR",                                                                       \
            "where --load io writes and reads files; the run creates its own directory there, and removes it", 0, 0, \
            NULL                                                                                                     \
    }

struct load {
    uint64_t kinds; /* a bit per kind; 0: a run without load */
    int victims;    /* percent of the nodes */
    const struct nodes *nodes;
    bool *is_victim;      /* each node */
    MPI_Comm measured;    /* the processes that run the patterns: all, or those of the victims; else MPI_COMM_NULL */
    int measured_ranks;   /* their number */
    MPI_Comm generators;  /* the others, and MPI_COMM_NULL on those that are measured */
    int *generating_node; /* the node of each process of `generators`, numbered from 0 among the nodes that generate */
    int generating_nodes;
    MPI_Comm control; /* all processes: messages that begin and end the load */
};

/* Selects `percent` of the nodes as victims: the first one, whose first process writes the log, and others by the
 * seed. Refuses the run if there are too few nodes. Without `kinds`, all processes are measured. Collective. */
struct load load_begin(const struct nodes *nodes, uint64_t kinds, int percent, uint64_t seed);
void load_end(struct load *load);

/* Length of a message of the load: a quarter of L_max, at most 1 MiB. */
int64_t load_message_bytes(int64_t l_max);

/* The log's description, NULL without load. Rank 0. */
json_t *load_json(const struct load *load, int64_t l_max);

#endif
