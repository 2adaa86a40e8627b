/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware counters (perfex in the paper): cycles and floating-point operations of this process, if the system permits
 * and the counts are plausible. */
#pragma once

#include <jansson.h>

enum counter { COUNTER_CYCLES, COUNTER_FLOPS, COUNTERS };

struct counters;

/* A counter that cannot be opened on every process, that miscounts a loop of known length, or that makes a process wait
 * longer, is left out with a reason. Collective. */
struct counters *counters_open(void);
void counters_close(struct counters *counters);

void counters_start(struct counters *counters);
void counters_stop(struct counters *counters);

/* The log's `counters` between the last start and stop, summed over the processes; null with a reason for counters that
 * are not available. Collective. */
json_t *counters_json(struct counters *counters);
