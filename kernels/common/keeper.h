/* A kernel that is killed outright (SIGKILL from a launcher that lost another process, out of memory, a crash) can close
 * no log and remove no file. The keeper is a small process beside rank 0 that does both once rank 0 is gone. */
#ifndef COFFEECUP_KEEPER_H
#define COFFEECUP_KEEPER_H

/* Rank 0: starts the keeper of this log and scratch directory; NULL where the directory is to stay. Where no process can
 * be started, the run goes on without one. */
void keeper_start(const char *log, const char *directory);

/* To be called first in main(): does the keeper's work and ends the process if this is the keeper, else returns. */
void keeper_main(int argc, char **argv);

#endif
