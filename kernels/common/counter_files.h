/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which the operating system counts. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* What this process's node has counted until now, as an object. A key is `NAME\tINSTANCE\tLARGEST`: the counter, the
 * device or other thing that counts, and the number after which the counter begins again at 0, empty if the system does
 * not state it. A value is the number, or "forbidden" or "unreadable" (no number from 0 to 2^63 - 1). A counter without
 * files is not in the object. `root` comes before all paths, "" on a machine. */
json_t *counter_files_read(const char *root, bool only_energy);
