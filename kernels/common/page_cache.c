/* SPDX-License-Identifier: Apache-2.0 */
/* See page_cache.h. */
#include "page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages are counted in one window of the file after the other. */
enum { WINDOW_BYTES = 1 << 30, LEAST_PAGE_BYTES = 4096 };

/* Only pages that are on disk can be evicted. */
int page_cache_evict(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    const int error = fsync(file) != 0 ? errno : posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    return error;
}

/* -1 if unknown. */
static int64_t cached_pages(int file, int64_t offset, int64_t bytes, int64_t page_bytes)
{
    static unsigned char in_cache[WINDOW_BYTES / LEAST_PAGE_BYTES];
    int64_t pages = 0;
    void *view = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, offset);
    if (view == MAP_FAILED)
        return -1;
    if (mincore(view, (size_t)bytes, in_cache) != 0)
        pages = -1;
    for (int64_t page = 0; pages >= 0 && page * page_bytes < bytes; page++)
        pages += in_cache[page] & 1;
    munmap(view, (size_t)bytes);
    return pages;
}

int64_t page_cache_bytes(const char *path)
{
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        if (file >= 0)
            close(file);
        return INT64_MAX;
    }
    int64_t pages = 0;
    for (int64_t offset = 0; offset < status.st_size && pages >= 0; offset += WINDOW_BYTES) {
        const int64_t left = status.st_size - offset;
        const int64_t in_window = cached_pages(file, offset, left < WINDOW_BYTES ? left : WINDOW_BYTES, page_bytes);
        pages = in_window < 0 ? -1 : pages + in_window;
    }
    close(file);
    return pages < 0 ? status.st_size : pages * page_bytes;
}
