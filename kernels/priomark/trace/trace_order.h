/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the requests of a program's threads are replayed. Each thread replays its own requests one after
 * the other, beside those of the others. A request waits for one of another thread only if it depends on it and the
 * other one had ended before it began when the program was recorded:
 *   - what uses a handle waits until the handle has been made; closing it waits for what uses it;
 *   - what uses a file pointer waits for the last request that moved it;
 *   - opening for the first time, truncating, allocating, renaming and removing a file waits for the requests on the
 *     file before, and those that follow wait for it;
 *   - reading beyond the size that the file had at first waits for the writes that made it longer.
 * Threads that never ran at the same time share a lane, so that there are no more lanes than threads at a time. */
#pragma once

#include "trace_fields.h"

/* Assigns lanes, and determines what each request waits for. Refuses the trace if there are too many lanes. */
void trace_order(struct reader *reader);
