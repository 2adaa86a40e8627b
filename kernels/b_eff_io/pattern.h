/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one pattern and writes its record to the log. */
#pragma once

#include "state.h"

/* Measures pattern `now->number`. `start` is its offset: in the file or, for types with segments, in the segment. */
void measure_pattern(struct step *now, const struct pattern *pattern, int64_t start);
