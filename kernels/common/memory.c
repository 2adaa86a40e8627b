/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail.h"

enum { PATH_LENGTH = 4096, TEXT_LENGTH = 64, LINE_LENGTH = 256 };

/* "max", and anything else that is not a positive number, means no limit. */
static int64_t read_limit(const char *path)
{
    char text[TEXT_LENGTH] = "", *end;
    FILE *file = fopen(path, "r");
    if (!file)
        return INT64_MAX;
    const bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const long long limit = strtoll(text, &end, 10);
    return is_read && (*end == '\n' || !*end) && limit > 0 ? limit : INT64_MAX;
}

/* Any ancestor of the group may have the limit, and inside a container the group's own path may not be visible: all
 * existing levels up to the mount point are read. */
static int64_t lowest_limit(const char *mount, const char *group, const char *file)
{
    char directory[PATH_LENGTH], path[PATH_LENGTH + 64];
    int64_t lowest = INT64_MAX;
    snprintf(directory, sizeof directory, "%s%s", mount, group);
    for (;;) {
        snprintf(path, sizeof path, "%s/%s", directory, file);
        int64_t limit = read_limit(path);
        if (limit < lowest)
            lowest = limit;
        char *slash = strrchr(directory, '/');
        if (!slash || strlen(directory) <= strlen(mount))
            return lowest;
        *slash = '\0';
    }
}

static int64_t cgroup_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return INT64_MAX;
    int64_t lowest = INT64_MAX;
    char line[PATH_LENGTH];
    while (fgets(line, sizeof line, file)) {
        char *newline = strchr(line, '\n');
        if (newline)
            *newline = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        int64_t limit = INT64_MAX;
        if (!controllers[1])
            limit = lowest_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strstr(controllers + 1, "memory"))
            limit = lowest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        if (limit < lowest)
            lowest = limit;
    }
    fclose(file);
    return lowest;
}

static int64_t physical_bytes(void)
{
    int64_t bytes;
    return __builtin_mul_overflow(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE), &bytes) || bytes < 0 ? 0 : bytes;
}

int64_t node_memory_bytes(const char **source)
{
    int64_t physical = physical_bytes();
    int64_t limit = cgroup_limit();
    *source = limit < physical ? "cgroup" : "physical";
    return limit < physical ? limit : physical;
}

int64_t available_memory_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file)
        return 0;
    char line[LINE_LENGTH];
    long long kibibytes = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld", &kibibytes) == 1)
            break;
    fclose(file);
    return kibibytes > 0 && kibibytes <= physical_bytes() / 1024 ? (int64_t)kibibytes * 1024 : 0;
}

static void *checked(void *memory, size_t count, size_t bytes)
{
    if (!memory)
        fail("out of memory: cannot allocate %zu times %zu bytes; use fewer processes on the node", count, bytes);
    return memory;
}

void *allocate(size_t count, size_t bytes)
{
    return checked(calloc(count ? count : 1, bytes), count, bytes);
}

void *reallocate(void *memory, size_t count, size_t bytes)
{
    return checked(reallocarray(memory, count, bytes), count, bytes);
}

char *copy_text(const char *text)
{
    return checked(strdup(text), strlen(text) + 1, 1);
}

#ifdef COFFEECUP_SIMULATED
const bool buffers_hold_data = false;

char *buffer_allocate(size_t bytes)
{
    return SMPI_SHARED_MALLOC(bytes);
}

void buffer_free(char *buffer, size_t bytes)
{
    (void)bytes;
    SMPI_SHARED_FREE(buffer);
}
#else
const bool buffers_hold_data = true;

char *buffer_allocate(size_t bytes)
{
    void *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        fail("cannot allocate a buffer of %zu bytes; use fewer processes on the node or a smaller --memory-per-process",
             bytes);
    memset(buffer, 0x5a, bytes);
    return buffer;
}

void buffer_free(char *buffer, size_t bytes)
{
    if (buffer)
        munmap(buffer, bytes);
}
#endif
