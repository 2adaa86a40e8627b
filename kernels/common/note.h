/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that fails leaves for the log, which rank 0 or its keeper closes: a small file beside the log with the
 * process's rank, host and message. A message through MPI would not do: after a failure nobody receives it, and some
 * launchers kill rank 0 before it can do anything. Where a process does not see rank 0's log (no shared file system)
 * it leaves no note, and its message is in the run's output only. */
#ifndef COFFEECUP_NOTE_H
#define COFFEECUP_NOTE_H

#include <limits.h>
#include <stdbool.h>

enum { NOTE_BYTES = 4096 };

/* Agrees on the place of the note, beside the log that rank 0 has just created. `host` names this process's node.
 * Collective over MPI_COMM_WORLD. */
void note_setup(const char *log, const char *host);

/* Leaves a note about this process; the first one counts. Does nothing on rank 0. Safe in a signal handler. */
void note_leave(const char *reason);

/* Rank 0 and its keeper: reads the note that is there, one JSON object without a newline, and removes it. False if
 * there is none. Safe in a signal handler. */
bool note_take(char note[NOTE_BYTES]);

/* No note is left from now on: the run has ended. */
void note_forget(void);

/* Where the note would be, "" if nobody could leave one; and the keeper, which is told so. */
const char *note_path(void);
void note_adopt(const char *path);

#endif
