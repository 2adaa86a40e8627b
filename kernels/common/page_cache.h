/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the page cache of this process's node. */
#ifndef COFFEECUP_PAGE_CACHE_H
#define COFFEECUP_PAGE_CACHE_H

#include <stdint.h>

/* Writes a file to disk and evicts it from the cache. Returns 0 or an errno. */
int page_cache_evict(const char *path);

/* How many bytes of a file are in the cache; all of them if that cannot be determined. */
int64_t page_cache_bytes(const char *path);

#endif
