/* SPDX-License-Identifier: Apache-2.0 */
/* The file system under test: its parameters, size and free space. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOUNT_TEXT = 1024, OPTIONS_TEXT = 4096, FILE_SYSTEM_NAME = 9 };

/* An entry in the list of mounts. */
struct mount {
    char type[MOUNT_TEXT];   /* "ext4", "lustre", "fuse.glusterfs" */
    char source[MOUNT_TEXT]; /* what is mounted: a device, "server:/export" */
    char point[PATH_MAX];
    char options[OPTIONS_TEXT]; /* separated by commas */
};

/* A target of a Lustre file system: one of the stores to which its files are striped. */
struct target {
    char name[64]; /* "work-OST0003" */
    int64_t total_bytes, free_bytes;
};

struct filesystem {
    char directory[PATH_MAX]; /* absolute, without symbolic links */
    struct mount mount;
    int64_t block_bytes, fragment_bytes; /* statfs: recommended for I/O, and allocated; 0: not stated */
    int64_t total_bytes;
    int64_t free_bytes;    /* for this user; on the node with the least */
    bool shared;           /* all processes appear to use the same one */
    struct target fullest; /* without a name: not known */
};

/* As rank 0 sees it, except for `free_bytes` and `shared`. Refuses a `directory` that does not exist on some rank.
 * Collective. */
struct filesystem filesystem_describe(const char *directory);

/* The mount with the longest path that the absolute `path` is below, in the `list` of mounts, normally
 * /proc/self/mounts; of several at one place, the last one, which hides the others. Without one, or without a list, the
 * type is "unknown" and the other texts are empty. */
void find_mount(const char *list, const char *path, struct mount *mount);

/* The name of a Lustre file system in the source of its mount, such as "scratch" in "10.0.0.1@tcp:/scratch/folder";
 * empty if it has none. */
void name_of_lustre(const char *source, char name[FILE_SYSTEM_NAME]);

/* The target with the largest share in use, of a mount whose type is lustre, as its client states in the files of
 * `root`, normally "". Without a name if it states none. */
struct target fullest_target(const char *root, const struct mount *mount);

/* The options of a mount, as a list. An option whose name suggests a password or a key loses its value. */
json_t *mount_options_json(const char *options);

/* The source of a mount without the user and password that a URL may contain. */
json_t *mount_source_json(const char *source);

/* The log's `filesystem`. */
json_t *filesystem_json(const struct filesystem *filesystem);

/* Refuses the run, with the sentence `remedy`, if all processes together cannot write `bytes` here. Collective. */
void filesystem_check_space(const struct filesystem *filesystem, int ranks_on_node, int ranks, int64_t bytes,
                            const char *remedy);
