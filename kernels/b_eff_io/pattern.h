/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern from its count to its record in the log. */
#ifndef B_EFF_IO_PATTERN_H
#define B_EFF_IO_PATTERN_H

#include "state.h"

/* Measures pattern `now->number`. `start` is where it begins: in the file or, for types with segments, in the segment.
 */
void measure_pattern(struct now *now, const struct pattern *pattern, int64_t start);

#endif
