/* SPDX-License-Identifier: Apache-2.0 */
/* Signs that somebody needs a device, which the kernel does not know. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes a reason if another process has this block device open. Only root sees the processes of all users, and nobody
 * sees those of other containers. */
void find_openers(dev_t number, char *reason, size_t bytes);

/* Writes a reason if the beginning of the device, `processes` times `process_bytes`, contains a byte other than 0, or
 * cannot be read. */
void find_content(int device, int64_t device_bytes, int64_t process_bytes, int processes, char *reason, size_t bytes);
