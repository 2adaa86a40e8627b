/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement under load: each pattern of the victims without load, with each kind of load, and without load after
 * each, on the same nodes. */
#pragma once

#include "load.h"
#include "request.h"

/* Measures everything that is requested and writes it to the log; prints a table on rank 0. Collective. */
void measure(struct run *run, const struct request *request, const struct load *load);
