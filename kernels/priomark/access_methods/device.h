/* SPDX-License-Identifier: Apache-2.0 */
/* A raw device, opened so that nothing that somebody needs can be destroyed. */
#ifndef PRIOMARK_DEVICE_H
#define PRIOMARK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "priomark.h"

struct device {
    int file;               /* open past the page cache */
    int64_t bytes;          /* of the device */
    int sector_bytes;       /* requests are multiples of it */
    int processes, process; /* on this node, and which of them this one is */
};

/* Opens the device on every node, or tells in `reason` why not: it is a symbolic link, no block device, not confirmed
 * by its size or serial number, mounted or held by something, or carries a partition table or a file system's (or any
 * other) signature. Only then a `writable` one can be written to. All processes get the same answer. Collective. */
struct device device_open(const char *path, const char *confirmation, bool writable, char *reason, size_t reason_bytes);

#endif
