/* SPDX-License-Identifier: Apache-2.0 */
/* One line for the person at the terminal: rewritten in place where standard error is a terminal, and otherwise
 * printed now and then, so that a job's file stays short. Rank 0 only. */
#ifndef COFFEECUP_PROGRESS_H
#define COFFEECUP_PROGRESS_H

#include <stdbool.h>

struct progress {
    const char *program;
    bool terminal;
    double last_shown_seconds;
};

struct progress progress_begin(const char *program);

/* `share` of the work is done (0 to 1) after `elapsed_seconds`; `what` is being measured. */
void progress_show(struct progress *progress, double share, double elapsed_seconds, const char *what);

void progress_end(struct progress *progress);

#endif
