/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement under load: each pattern of the victims without load, with each kind of load, and without load after
 * each, on the same nodes. */
#ifndef B_EFF_LOADED_H
#define B_EFF_LOADED_H

#include "request.h"
#include "run.h"

/* Measures everything that is requested and writes it to the log; prints a table on rank 0. Collective. */
void measure_loaded(struct run *run, const struct request *request);

#endif
