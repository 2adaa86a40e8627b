/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a run's own directory and nothing else: immediately before the removal it is proved that this run created the
 * directory. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { RANDOM_LETTERS = 6 };

/* PARENT/NAME without any symbolic link, where NAME is PROGRAM-XXXXXX with random letters. It contains an empty file
 * MARKER with a random name, which has the same owner. Until the run has created the marker (`marked`), the directory
 * is empty. */
struct own_directory {
    char parent[PATH_MAX], name[64], program[32], marker[64];
    uid_t owner;
    bool marked;
};

/* Creates the marker in an open directory. */
bool mark_own_directory(int directory, const struct own_directory *own);

/* Whether an open directory has the owner and the marker. */
bool is_own_directory(int directory, const struct own_directory *own);

/* Removes the directory with all files and folders in it if all of this is true; if it is not marked yet, only an empty
 * directory of that name and owner. Returns true if nothing is left to do (removed, gone, or not the run's), false if
 * something in it cannot be removed yet. Like the two functions above, safe in a signal handler. */
bool remove_own_directory(const struct own_directory *own);
