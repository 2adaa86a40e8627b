/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement under load: a few patterns on the victims without load, with each kind of load, and without load
 * after each, on the same nodes. */
#pragma once

#include "plan.h"
#include "run.h"

/* Measures everything that is planned, in files of the scratch directory, and writes it to the log; prints a table on
 * rank 0. Collective over MPI_COMM_WORLD. */
void measure(struct run *run, const struct plan *plan);
