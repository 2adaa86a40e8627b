/* SPDX-License-Identifier: Apache-2.0 */
/* A note from a failing process, or from the keeper of a node that lost one, for the log, which rank 0 or its keeper
 * closes: a small file beside the log with the process's rank, host and message. An MPI message would not work: after a
 * failure nobody receives it, and some launchers kill rank 0 at once. A process that does not see rank 0's log (no
 * shared file system) leaves no note, and its message is in the run's output only. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { NOTE_BYTES = 4096, NOTE_HOST_BYTES = 256 };

/* Agrees on the path of the note, beside the log that rank 0 has just created. `host` is the name of this process's
 * node. Collective over MPI_COMM_WORLD. */
void note_setup(const char *log, const char *host);

/* Leaves a note about this process, unless another process already has. Does nothing on rank 0. Safe in a signal
 * handler. */
void note_leave(const char *reason);

/* The same for another process of this node. Whether there was no note yet. */
bool note_leave_of(int rank, const char *reason);

/* Rank 0 and its keeper: reads and removes the note, one JSON object without a newline. False if there is none. Safe in
 * a signal handler. */
bool note_take(char note[NOTE_BYTES]);

/* From now on no note is left: the run has ended. */
void note_forget(void);

/* What a note says of a process that ended without a word, and where others did after it. */
#define SEE_OUTPUT "; see the output of the job for the reason"
#define LOST_REASON "killed or crashed" SEE_OUTPUT
#define FIRST_LOST_REASON "killed or crashed, the first of several processes to end" SEE_OUTPUT

/* Forms a note without its newline, and returns its length. Safe in a signal handler. */
size_t note_form(char text[NOTE_BYTES], int rank, const char *host, const char *reason);

/* The path of the note, "" if this process can neither leave nor take one, and the name of its node; the same, set in
 * its keeper, which takes the note (that of rank 0) or may leave one. */
const char *note_path(void);
const char *note_host(void);
void note_adopt(const char *path, const char *host, bool takes);
