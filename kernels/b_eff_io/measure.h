/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement: loops over access methods, partitions, pattern types and patterns (paper, section 6). */
#pragma once

#include "state.h"

/* The whole measurement, in files of the scratch directory; writes the log. Collective over MPI_COMM_WORLD. */
void measure(struct run *run, const struct request *request, struct summary *summary);
