/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static const double terminal_interval_seconds = 0.2, file_interval_seconds = 10.0;

static struct {
    const char *program; /* NULL: nothing is shown */
    bool terminal;
    double last_shown_seconds;
} progress;

void progress_begin(const char *program, int rank)
{
    if (rank == 0) {
        progress.program = program;
        progress.terminal = isatty(STDERR_FILENO);
        progress.last_shown_seconds = -1e9;
    }
}

void progress_show(double share, double elapsed_seconds, const char *what)
{
    const double interval = progress.terminal ? terminal_interval_seconds : file_interval_seconds;
    if (!progress.program || elapsed_seconds - progress.last_shown_seconds < interval)
        return;
    progress.last_shown_seconds = elapsed_seconds;
    const double left = share > 0.02 ? elapsed_seconds * (1 - share) / share : -1;
    fprintf(stderr, "%s%s: %3.0f %%, %.0f s", progress.terminal ? "\r\033[K" : "", progress.program, 100 * share,
            elapsed_seconds);
    if (left >= 0)
        fprintf(stderr, ", about %.0f s left", left);
    fprintf(stderr, ", %s%s", what, progress.terminal ? "" : "\n");
    fflush(stderr);
}

void progress_end(void)
{
    if (progress.terminal)
        fprintf(stderr, "\r\033[K");
}
