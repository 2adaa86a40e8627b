/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is killed (SIGKILL from a launcher that lost another process or was killed itself, out of memory, a
 * crash) cannot close its log or remove its files. A keeper is a small process beside the first rank of each node that
 * does both after the end of that rank. */
#pragma once

#include "removal.h"

/* Starts the keeper of this process. If no process can be started, the run continues without a keeper. */
void keeper_start(void);

/* Tell the keeper, if this process has one, of the open log, negative on a rank without one, and the note about a
 * failing process (see note.h), which the keeper of rank 0 takes and any other leaves if it sees a process of its node
 * lost; and which directory to remove. The last directory counts. */
void keeper_note(int log);
void keeper_remove(const struct own_directory *own);

/* Must be called first in main(): if this process is a keeper, does its work and ends it; otherwise returns. */
void keeper_main(int argc, char **argv);
