/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a run's own directory, and nothing else: whatever is removed must prove at that moment that this run made
 * it. */
#ifndef COFFEECUP_REMOVAL_H
#define COFFEECUP_REMOVAL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* PARENT/NAME without any symbolic link, where NAME is PROGRAM-XXXXXX; its owner, and in it an empty file MARKER, of
 * the same owner, whose name only this run knows. */
struct own_directory {
    char parent[PATH_MAX], name[64], program[32], marker[64];
    uid_t owner;
};

/* Creates the marker in a directory that is open. */
bool mark_own_directory(int directory, const struct own_directory *own);

/* Whether a directory that is open has the owner and the marker. */
bool is_own_directory(int directory, const struct own_directory *own);

/* Removes the directory with all files in it if all of the above holds. True where nothing is left to do (removed,
 * gone, or not the run's), false where something in it cannot be removed yet. Safe in a signal handler, as the two
 * above. */
bool remove_own_directory(const struct own_directory *own);

#endif
