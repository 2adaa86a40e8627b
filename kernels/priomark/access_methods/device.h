/* SPDX-License-Identifier: Apache-2.0 */
/* A raw device, opened only if it contains no data that somebody may need. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "priomark.h"

struct device {
    int file;               /* open for direct I/O */
    int64_t bytes;          /* of the device */
    int sector_bytes;       /* requests are multiples of it */
    int processes, process; /* on this node: their number, and the index of this one */
};

/* What a workload permits. */
struct permission {
    const char *confirmation; /* size in bytes or serial number; NULL: none */
    bool writable;
    bool overwrite;        /* content other than zeros */
    int64_t process_bytes; /* maximum of the range that a process writes */
};

/* Opens the device on every node; if that is refused, `reason` is not empty. Refused are symbolic links, files that are
 * not block devices, devices that are not confirmed by exactly their size or serial number, that are mounted or open in
 * another process, or that have a partition table or the signature of a file system or anything else; and, if they are
 * written, other content than zeros in the range that would be written, unless it may be overwritten. All processes get
 * the same result. Collective. */
struct device device_open(const char *path, const struct permission *permission, char *reason, size_t reason_bytes);
