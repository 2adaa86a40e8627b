/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the same work by two clocks: the one that measures, which is a function of a library, and the time of day
 * (clock.h). A library that shows shorter times only now and then does not show them here. */
#pragma once

#include <jansson.h>

/* Adds a timed region to the times of its phase. Phases beyond the first 64 count as one. */
void clocks_add(const char *phase, double measured_seconds, double by_day);

/* The field `phases` of the record `clocks`. */
json_t *clocks_json(void);
