/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recorded program's requests from a trace (docs/priomark_recording.md). A trace comes from elsewhere and may
 * contain anything: what is returned has been checked, so that a replay needs no checks. */
#pragma once

#include "trace.h"

/* Reads a trace. False with "PATH:LINE: what is wrong; the remedy" in `reason` if it is not a valid trace. */
bool trace_read(struct trace *trace, const char *path, char *reason, size_t reason_bytes);
void trace_free(struct trace *trace);

const char *trace_operation_name(enum trace_operation operation);
