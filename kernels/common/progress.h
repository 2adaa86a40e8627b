/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line: rewritten in place if standard error is a terminal, otherwise printed every ten seconds at most, so
 * that a job's output stays short. Rank 0 prints it, the other ranks do nothing. */
#pragma once

/* By run_begin(). */
void progress_begin(const char *program, int rank);

/* `share` (0 to 1) of the work is done after `elapsed_seconds`; `what` is being measured. */
void progress_show(double share, double elapsed_seconds, const char *what);

/* Before anything else is printed. */
void progress_end(void);
