/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line: rewritten in place if standard error is a terminal, otherwise printed every ten seconds at most, so
 * that a job's output stays short. Rank 0 only. */
#pragma once

#include <stdbool.h>

struct progress {
    const char *program;
    bool terminal;
    double last_shown_seconds;
};

struct progress progress_begin(const char *program);

/* `share` (0 to 1) of the work is done after `elapsed_seconds`; `what` is being measured. */
void progress_show(struct progress *progress, double share, double elapsed_seconds, const char *what);

void progress_end(struct progress *progress);
