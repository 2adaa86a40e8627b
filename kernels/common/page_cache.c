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

int64_t resident_bytes(const void *memory, int64_t bytes)
{
    static unsigned char in_memory[WINDOW_BYTES / LEAST_PAGE_BYTES];
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    int64_t pages = 0;
    for (int64_t done = 0; done < bytes; done += WINDOW_BYTES) {
        const int64_t window = bytes - done < WINDOW_BYTES ? bytes - done : WINDOW_BYTES;
        if (mincore((char *)memory + done, (size_t)window, in_memory) != 0)
            return -1;
        for (int64_t page = 0; page * page_bytes < window; page++)
            pages += in_memory[page] & 1;
    }
    return pages * page_bytes;
}

/* -1 if unknown. */
static int64_t cached_in_window(int file, int64_t offset, int64_t bytes)
{
    void *view = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, offset);
    if (view == MAP_FAILED)
        return -1;
    const int64_t cached = resident_bytes(view, bytes);
    munmap(view, (size_t)bytes);
    return cached;
}

int64_t page_cache_bytes(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        if (file >= 0)
            close(file);
        return INT64_MAX;
    }
    int64_t cached = 0;
    for (int64_t offset = 0; offset < status.st_size && cached >= 0; offset += WINDOW_BYTES) {
        const int64_t left = status.st_size - offset;
        const int64_t in_window = cached_in_window(file, offset, left < WINDOW_BYTES ? left : WINDOW_BYTES);
        cached = in_window < 0 ? -1 : cached + in_window;
    }
    close(file);
    return cached < 0 ? status.st_size : cached;
}
