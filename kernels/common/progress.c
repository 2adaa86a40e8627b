/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

static const double terminal_interval_seconds = 0.2, file_interval_seconds = 10.0;

struct progress progress_begin(const char *program)
{
    return (struct progress){.program = program, .terminal = isatty(STDERR_FILENO), .last_shown_seconds = -1e9};
}

void progress_show(struct progress *progress, double share, double elapsed_seconds, const char *what)
{
    double interval = progress->terminal ? terminal_interval_seconds : file_interval_seconds;
    if (elapsed_seconds - progress->last_shown_seconds < interval)
        return;
    progress->last_shown_seconds = elapsed_seconds;
    double left = share > 0.02 ? elapsed_seconds * (1 - share) / share : -1;
    fprintf(stderr, "%s%s: %3.0f %%, %.0f s", progress->terminal ? "\r\033[K" : "", progress->program, 100 * share,
            elapsed_seconds);
    if (left >= 0)
        fprintf(stderr, ", about %.0f s left", left);
    fprintf(stderr, ", %s%s", what, progress->terminal ? "" : "\n");
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->terminal)
        fprintf(stderr, "\r\033[K");
}
