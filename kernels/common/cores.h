/* SPDX-License-Identifier: Apache-2.0 */
/* The processors of a node, by Linux's numbers: which a process may use, which its job may, how many there are. */
#ifndef COFFEECUP_CORES_H
#define COFFEECUP_CORES_H

#include <mpi.h>
#include <sched.h>

#include <jansson.h>

/* As many as Linux can have: a single cpu_set_t ends at 1024, and where there may be more the system refuses it. */
enum { MOST_CORES = 8192 };

struct core_set {
    cpu_set_t parts[MOST_CORES / CPU_SETSIZE];
};

/* Those on which this process may run. */
struct core_set allowed_cores(void);

int core_count(const struct core_set *cores);

/* What the ranks of a communicator, all on one node, may use together. */
int count_cores(MPI_Comm node);

/* What their job may use: that and what those may use who started them, which are not bound. */
int count_offered_cores(MPI_Comm node);

/* All that the node has. */
int count_online_cores(void);

/* Collective over MPI_COMM_WORLD. Rank 0: each rank's processors as `allowed_cores` tells them, to be freed; else NULL.
 */
struct core_set *gather_cores(int rank, int ranks);

/* The set as text of the log, like "0-3,8". */
json_t *cores_json(const struct core_set *cores);

#endif
