/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that affect MPI libraries, and those that COFFEECUP_COMPARED names. */
#pragma once

#include <jansson.h>

/* Those of this process, name to value. */
json_t *steering_environment(void);

/* Rank 0: the names of those that some process lacks, or has with another value than rank 0; [] on the others.
 * Collective over MPI_COMM_WORLD. */
json_t *differing_environment(void);
