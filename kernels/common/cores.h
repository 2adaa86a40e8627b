/* SPDX-License-Identifier: Apache-2.0 */
/* The processors of a node, by Linux's numbers: those that a process may use, those of its job, and all of them. */
#pragma once

#include <mpi.h>
#include <sched.h>

#include <jansson.h>

/* The maximum of Linux. A single cpu_set_t ends at 1024; a system with more possible processors rejects it. */
enum { MOST_CORES = 8192 };

struct core_set {
    cpu_set_t parts[MOST_CORES / CPU_SETSIZE];
};

/* The processors on which this process may run. */
struct core_set allowed_cores(void);

int core_count(const struct core_set *cores);

/* Number of processors that the ranks of a communicator, all on one node, may use together. */
int count_cores(MPI_Comm node);

/* Number of processors of their job: those, and the ones that the processes which started the ranks may use, because
 * these are not bound. */
int count_offered_cores(MPI_Comm node);

/* Number of all processors of the node. */
int count_online_cores(void);

/* The model of the first processor of a file like /proc/cpuinfo, "" if it states none. ARM states numbers of the
 * implementer and the part instead. */
void processor_model(const char *path, char *model, size_t size);

/* The set as text for the log, such as "0-3,8". */
json_t *cores_json(const struct core_set *cores);
