/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor itself counts (the paper's perfex): cycles and floating-point operations of this process, where
 * the system permits and the count can be trusted. */
#ifndef FTIO_COUNTERS_H
#define FTIO_COUNTERS_H

#include <jansson.h>
#include <stdint.h>

enum counter { COUNTER_CYCLES, COUNTER_FLOPS, COUNTERS };

struct counters;

/* A counter that cannot be opened on every process, or that miscounts a loop of known length, is left out for a reason.
 * Collective. */
struct counters *counters_open(void);
void counters_close(struct counters *counters);

void counters_start(struct counters *counters);
void counters_stop(struct counters *counters);

/* The log's `counters` of the last start to stop, summed over the processes; null with a reason for what was not
 * counted. Collective. */
json_t *counters_json(struct counters *counters);

#endif
