/* SPDX-License-Identifier: Apache-2.0 */
/* Other runs in the same directory under test, which disturb this one: each has a marked directory there (scratch.h).
 * Runs of other users cannot be recognised, because their directories cannot be read. */
#pragma once

#include <jansson.h>

#define MARKER_PREFIX ".coffeecup-"

/* Notes the run directories in PARENT except OWN, and sets the time of their markers, by which they notice this run
 * even if it is shorter than they are. On rank 0, at the start and at the end of a run. */
void overlap_look(const char *parent, const char *own);

/* Whether another run has set the time of this marker. On rank 0, at the end of a run. */
void overlap_look_at_marker(const char *path);

/* The fields of the record `overlap`; NULL if no other run was noticed. */
json_t *overlap_json(void);
