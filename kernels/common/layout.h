/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers hold a process's file, where the file system tells: the bricks of GlusterFS, the targets of Lustre. */
#ifndef COFFEECUP_LAYOUT_H
#define COFFEECUP_LAYOUT_H

#include <jansson.h>
#include <stddef.h>

#include "run.h"

enum { SERVER_BYTES = 512, FILE_SYSTEM_NAME = 9 };

/* The bricks in the extended attribute glusterfs.pathinfo, such as "host:/brick", each separated by a space: several if
 * the file is replicated or dispersed over them. Empty if there is none, or if they do not fit. */
void bricks_of(const char *pathinfo, char server[SERVER_BYTES]);

/* The name of a Lustre file system in the source of its mount, such as "scratch" in "10.0.0.1@tcp:/scratch/folder";
 * empty if it has none. */
void name_of_lustre(const char *source, char name[FILE_SYSTEM_NAME]);

/* The targets in the extended attribute lustre.lov, such as "scratch-OST000a", or "OST000a" without a `name`, in
 * ascending order, each once, separated by spaces. Empty if there is none, if they do not fit, or if the attribute has
 * another form than those that are known. */
void targets_of(const unsigned char *attribute, size_t bytes, const char *name, char server[SERVER_BYTES]);

/* The servers of a file, empty where the file system does not tell. Never called while a clock runs. */
void file_server(const char *path, char server[SERVER_BYTES]);

/* `servers`, the different ones of all processes of `comm`, and `files`, the place of each process's server in that
 * list, in the order of the ranks. NULL on all ranks but 0, if the server of a process is unknown, and in runs whose
 * processes have no times of their own in the log (process_times.h). Collective over `comm`. */
json_t *layout_json(const struct run *run, MPI_Comm comm, const char server[SERVER_BYTES]);

#endif
