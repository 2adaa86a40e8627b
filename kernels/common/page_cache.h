/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the page cache of this process's node, and what of its memory is resident. */
#pragma once

#include <stdint.h>

/* Writes a file to disk and evicts it from the cache. Returns 0 or an errno. */
int page_cache_evict(const char *path);

/* How many bytes of a file are in the cache; all of them if that cannot be determined. */
int64_t page_cache_bytes(const char *path);

/* How many bytes of page-aligned memory are in physical memory, not in swap space or on disk; -1 if that cannot be
 * determined. In whole pages. */
int64_t resident_bytes(const void *memory, int64_t bytes);
