/* SPDX-License-Identifier: Apache-2.0 */
/* SIGTERM and SIGINT (a person, a scheduler, ReFrame's time limit) close the log as `interrupted`. The handler itself
 * writes the end record with calls that are safe in a handler, because between the signal and the launcher's SIGKILL
 * there may be less time than one exchange of large messages takes. */
#ifndef COFFEECUP_INTERRUPT_H
#define COFFEECUP_INTERRUPT_H

/* From now on an interruption appends the end record to `file` (start_seconds on CLOCK_MONOTONIC). */
void interrupt_watch(int file, double start_seconds);

/* On ranks without a log: an interruption ends the process a moment later than rank 0, which has a log to close. */
void interrupt_follow(void);

/* Holds signals back while a record is written; release says how many records the file has now. */
void interrupt_hold(void);
void interrupt_release(long records);

/* All ranks: an interruption also calls `clean`, which must be safe in a handler. */
void interrupt_clean_with(void (*clean)(void));

/* All ranks: if this is not called again within so many seconds the run hangs. Rank by rank the process then prints
 * `reason` (plain text without quotes), closes the log as failed and ends. 0 seconds: nothing is waited for. */
void interrupt_deadline(unsigned seconds, const char *reason);

/* The log is closed: an interruption has nothing to write any more. Ends a hold. */
void interrupt_forget(void);

#endif
