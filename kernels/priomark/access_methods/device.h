/* SPDX-License-Identifier: Apache-2.0 */
/* A raw device, opened only if it contains no data that somebody may need. */
#ifndef PRIOMARK_DEVICE_H
#define PRIOMARK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "priomark.h"

struct device {
    int file;               /* open for direct I/O */
    int64_t bytes;          /* of the device */
    int sector_bytes;       /* requests are multiples of it */
    int processes, process; /* on this node: their number, and the index of this one */
};

/* Opens the device on every node, for writing if `writable`; otherwise `reason` is not empty. Refused are symbolic
 * links, files that are not block devices, devices that are not confirmed by their size or serial number, that are
 * mounted or in use, or that have a partition table or the signature of a file system or anything else. All processes
 * get the same result. Collective. */
struct device device_open(const char *path, const char *confirmation, bool writable, char *reason, size_t reason_bytes);

#endif
