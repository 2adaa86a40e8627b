/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a trace's requests again, on files of the run's own. */
#pragma once

#include "trace_lane.h"

/* Prepares the files, replays between priomark_begin() and priomark_end(), notes what it saw and removes the files.
 * Collective. */
void replay_trace(const struct replay *replay);
