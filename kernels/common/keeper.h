/* SPDX-License-Identifier: Apache-2.0 */
/* What is killed outright (SIGKILL from a launcher that lost another process or that was killed itself, out of memory,
 * a crash) can close no log and remove no file. A keeper is a small process beside the first rank of each node that
 * does both once that rank is gone. */
#ifndef COFFEECUP_KEEPER_H
#define COFFEECUP_KEEPER_H

#include "removal.h"

/* Starts the keeper of this process. `log` is its open log, negative on a rank without one. Where no process can be
 * started, the run goes on without a keeper. */
void keeper_start(int log);

/* Where a process that fails may leave a note (see note.h), and the directory that has to go: for the keeper, if this
 * process has one. */
void keeper_note(const char *path);
void keeper_remove(const struct own_directory *own);

/* To be called first in main(): does the keeper's work and ends the process if this is a keeper, else returns. */
void keeper_main(int argc, char **argv);

#endif
