/* SPDX-License-Identifier: Apache-2.0 */
/* What ran where: the nodes of the run, their memory and cores, the MPI library and its settings. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stdint.h>

struct machine {
    int leader;                /* the first rank on this rank's node */
    int ranks_on_node;         /* of this rank's node */
    int nodes;                 /* of the whole run */
    int64_t node_memory_bytes; /* of this rank's node: physical or the control group's limit */
    const char *memory_source; /* "physical" or "cgroup" */
    json_t *hosts;             /* rank 0: the log's `hosts`, else NULL */
    json_t *mpi;               /* rank 0: the log's `mpi`, else NULL */
};

/* The name of this process's node. Several Slurm daemons on one machine have the same processor name, so the node's
 * name in the job is used if there is one. */
void host_name(char name[MPI_MAX_PROCESSOR_NAME]);

/* Collective over MPI_COMM_WORLD. Requires memory in proportion to the number of ranks on rank 0 only. */
struct machine machine_describe(void);
