/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a user names: only regular ones are read, because a device or a pipe may never end. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Opens a regular file of at most `most_bytes` for reading. Otherwise returns NULL, and `why` becomes the reason, in
 * static storage. */
FILE *input_open(const char *path, int64_t most_bytes, const char **why);

/* Reads such a file into `text`; `bytes` becomes its size. Returns NULL, or why it cannot be read. */
const char *input_read(const char *path, size_t most_bytes, char *text, size_t *bytes);

/* Finds a file that belongs to the program: in one of the NULL-terminated places, relative to the folder of the
 * executable. If it is there, `path` becomes its path. */
bool input_find_included(const char *const *places, const char *file, char path[PATH_MAX]);
