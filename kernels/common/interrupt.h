/* SPDX-License-Identifier: Apache-2.0 */
/* SIGTERM and SIGINT (from a user, a scheduler, or ReFrame's time limit) close the log as `interrupted`. The handler
 * itself writes the end record with calls that are safe in a handler, because the launcher's SIGKILL may follow sooner
 * than one exchange of large messages is complete. */
#pragma once

/* From now on, an interruption appends the end record to `file` (start_seconds of CLOCK_MONOTONIC). On ranks without a
 * log, `file` is -1: an interruption ends the process shortly after rank 0, which must close the log. */
void interrupt_watch(int file, double start_seconds);

/* Block signals while a record is written; `records` is the number of records in the file after that. */
void interrupt_hold(void);
void interrupt_release(long records);

/* All ranks: an interruption also calls `clean`, which must be safe in a signal handler. */
void interrupt_clean_with(void (*clean)(void));

/* The log is closed: an interruption writes nothing any more. Unblocks signals. */
void interrupt_forget(void);
