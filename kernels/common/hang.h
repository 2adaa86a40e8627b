/* SPDX-License-Identifier: Apache-2.0 */
/* A run in which nothing moves any more. The keepers of the nodes notice it, write down where each process is, and end
 * the run (see keeper.h). */
#pragma once

#include <stdbool.h>

#include "options.h"

/* Time without progress after which a run is hung; 0: see hang_patience(). */
extern double hang_after_seconds;
#define OPTION_HANG_AFTER(usual)                                \
    SECONDS_OPTION("hang-after", &hang_after_seconds, 0, 86400, \
                   "time without progress after which the run ends and states where each process was; 0: " usual)
#define OPTION_MESSAGES_HANG_AFTER \
    OPTION_HANG_AFTER(             \
        "30 s, or 100\n        times as long as a loop of messages is expected to take, and 300 s for the first loop")
#define OPTION_FILES_HANG_AFTER OPTION_HANG_AFTER("600 s")

/* Seconds that a loop of messages may take: without the option at least 30, and a hundred times as long as expected,
 * for links that became slow; 300 where nothing is expected yet (0), since the library may connect many processes
 * first. Of files a call may take 600, since a file system writes what it cached. */
double hang_patience(double expected_seconds);
double hang_patience_of_files(void);

/* Of `seconds` without progress, those that count while a process waited so many seconds in all for its `turns` on a
 * processor. On a busy node each exchange takes several such waits, one after the other: above TURN_SECONDS for a turn,
 * time counts less in proportion, but at least a tenth of it. */
double hang_counted_seconds(double seconds, double waited_seconds, double turns);

/* For how long a process has been in one call of the kernel, after another look that found it in the state of this
 * letter of proc(5), after so many turns on a processor since the look before. */
double hang_asleep_seconds(double before_seconds, char letter, double turns);

/* Keeper: for peers_watch(). True if the run hangs: the processes of this node have been ended, and hang_end() of the
 * keeper of rank 0 describes those of all nodes that share the directory of the log. */
bool hang_look(void);

/* Keeper: whether hang_look() was true. */
bool hang_found(void);

/* Keeper: the run has ended; leaves no vote beside its log. */
void hang_withdraw(void);

/* Keeper: a process that waits in the kernel for a file system does not end, and its launcher waits for it. A launcher
 * whose nodes do not see each other any more does not end either. Ends the launcher in these cases. */
void hang_end_launcher(void);

/* Keeper: the log's last record, without its newline, to be freed with free(); NULL without memory. */
char *hang_end(long sequence, double elapsed_seconds);
