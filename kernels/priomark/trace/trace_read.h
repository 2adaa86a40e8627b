/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recorded program's requests from a trace (docs/priomark_recording.md). A trace comes from elsewhere and may
 * contain anything: what is returned has been checked, so that a replay needs no checks. */
#pragma once

#include "priomark.h"
#include "trace.h"

/* Reads a trace, and refuses what is no valid one with "PATH:LINE: what is wrong; the remedy". */
struct trace trace_read(const struct priomark *run, const char *path);
void trace_free(struct trace *trace);

const char *trace_operation_name(enum trace_operation operation);
