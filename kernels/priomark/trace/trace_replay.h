/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a trace's requests again, on files of the run's own. */
#ifndef PRIOMARK_TRACE_REPLAY_H
#define PRIOMARK_TRACE_REPLAY_H

#include "priomark.h"
#include "trace_read.h"

struct replay {
    struct priomark *run;
    const struct trace *trace;
    int copy; /* processes of one copy of the recorded program see the same files */
    bool think,
        sync;     /* whether to wait as the program did between requests; to synchronise in the end what was written */
    int64_t late; /* nanoseconds that the process started after the first one of the recording */
};

/* Prepares the files, replays between priomark_begin() and priomark_end(), notes what it saw and removes the files.
 * Collective. */
void replay_trace(const struct replay *replay);

#endif
