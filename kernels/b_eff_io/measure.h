/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement: access method, partition, pattern type, pattern (paper, section 6), and the records of the log. */
#ifndef B_EFF_IO_MEASURE_H
#define B_EFF_IO_MEASURE_H

#include "request.h"
#include "run.h"

/* What rank 0 keeps for the table at the terminal. */
struct summary {
    double bytes[MOST_PARTITIONS][METHODS][TYPES], seconds[MOST_PARTITIONS][METHODS][TYPES];
    int overruns; /* measurements that left out calls so that the run ends in time */
};

/* The whole measurement, in files of the scratch directory; writes the log. Collective over MPI_COMM_WORLD. */
void measure(struct run *run, const struct request *request, struct summary *summary);

#endif
