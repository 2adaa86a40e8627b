/* SPDX-License-Identifier: Apache-2.0 */
/* How files are spread over servers, where the file system tells: the bricks of GlusterFS, the stripes and targets of
 * Lustre and BeeGFS. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"

enum { SERVER_BYTES = 512, POOL_BYTES = 16 };

/* Of the part of a file that has the most stripes; a composite layout of Lustre has several parts. */
struct striping {
    int64_t preferred_bytes;              /* of a call, by stat; 0: there is no file */
    int64_t parts, stripes, stripe_bytes; /* 0: unknown */
    char pool[POOL_BYTES];                /* empty: none, or unknown */
};

struct file_layout {
    struct striping striping;
    char server[SERVER_BYTES]; /* empty: unknown */
};

/* The bricks in the extended attribute glusterfs.pathinfo, such as "host:/brick", each separated by a space: several if
 * the file is replicated or dispersed over them. Empty if there is none, or if they do not fit. */
void bricks_of(const char *pathinfo, char server[SERVER_BYTES]);

/* The stripes in the extended attribute lustre.lov, and their targets, such as "scratch-OST000a", or "OST000a" without
 * a `name`, in ascending order, each once, separated by spaces; no targets if they do not fit. Nothing if the attribute
 * has another form than those that are known. */
void lustre_layout(const unsigned char *attribute, size_t bytes, const char *name, struct file_layout *layout);

/* The stripes of a file of BeeGFS and their targets, such as "storage1:101", of a mirrored file both of each stripe.
 * `ask` is ioctl(). */
void beegfs_layout(int (*ask)(int file, unsigned long request, void *answer), int file, struct file_layout *layout);

/* Never called while a clock runs. */
void layout_of_file(const char *path, struct file_layout *layout);

/* The different ways in which the files are striped: of the processes' own files, or of the file that all processes
 * share, which rank 0 has examined. NULL on all ranks but 0. Collective over `comm`. */
json_t *striping_json(MPI_Comm comm, const struct file_layout *mine, bool shared);

/* `servers`, the different ones of all processes of `comm`, and `files`, the place of each process's server in that
 * list, in the order of the ranks. NULL on all ranks but 0, if the server of a process is unknown, and in runs whose
 * processes have no times of their own in the log (process_times.h). Collective over `comm`. */
json_t *layout_json(const struct run *run, MPI_Comm comm, const char server[SERVER_BYTES]);
