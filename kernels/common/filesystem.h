/* SPDX-License-Identifier: Apache-2.0 */
/* The file system under test: its type, size and free space. */
#ifndef COFFEECUP_FILESYSTEM_H
#define COFFEECUP_FILESYSTEM_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOUNT_TEXT = 1024 };

struct filesystem {
    char directory[PATH_MAX]; /* absolute, without symbolic links */
    char type[MOUNT_TEXT];    /* as mounted: "ext4", "lustre", "fuse.glusterfs" */
    int64_t total_bytes;
    int64_t free_bytes; /* for this user; on the node with the least */
    bool shared;        /* all processes appear to use the same one */
};

/* As rank 0 sees it, except for `free_bytes` and `shared`. Refuses a `directory` that does not exist on some rank.
 * Collective. */
struct filesystem filesystem_describe(const char *directory);

/* The type and the source, such as a device, of the mount with the longest path that the absolute `path` is below; of
 * several at one place, of the last one, which hides the others. "unknown" if there is none. */
void find_mount(const char *path, char type[MOUNT_TEXT], char source[MOUNT_TEXT]);

/* The log's `filesystem`. */
json_t *filesystem_json(const struct filesystem *filesystem);

/* Refuses the run, with the sentence `remedy`, if all processes together cannot write `bytes` here. Collective. */
void filesystem_check_space(const struct filesystem *filesystem, int ranks_on_node, int ranks, int64_t bytes,
                            const char *remedy);

#endif
