/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail.h"
#include "first_line.h"

enum { PATH_LENGTH = 4096, TEXT_LENGTH = 64, LINE_LENGTH = 256 };

/* The files of a control group, version 1 or 2. */
struct group_files {
    const char *mount, *limit, *usage;
    const char *inactive, *active; /* lines of memory.stat: file pages, which the kernel can reclaim */
};
static const struct group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "total_inactive_file %lld", "total_active_file %lld"};
static const struct group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file %lld",
                                             "active_file %lld"};

/* INT64_MAX for "max", and for anything else that is not a positive number. */
static int64_t read_number(const char *directory, const char *file)
{
    char text[TEXT_LENGTH], *end;
    read_first_line(text, sizeof text, "%s/%s", directory, file);
    const long long number = strtoll(text, &end, 10);
    return !*end && number > 0 ? number : INT64_MAX;
}

/* The number in the line of a file that has this form; 0 if there is none. */
static int64_t find_number(const char *path, const char *form)
{
    char line[LINE_LENGTH];
    long long number = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, form, &number) != 1)
        ;
    if (file)
        fclose(file);
    return number;
}

static int64_t limit_of(const char *directory, const struct group_files *files)
{
    return read_number(directory, files->limit);
}

static int64_t file_pages(const char *directory, const struct group_files *files)
{
    char path[PATH_LENGTH + 64];
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    return find_number(path, files->inactive) + find_number(path, files->active);
}

/* What the group may still use: its limit, without what is used for other things than files in the page cache. */
static int64_t available_in(const char *directory, const struct group_files *files)
{
    const int64_t limit = limit_of(directory, files), usage = read_number(directory, files->usage);
    if (limit == INT64_MAX || usage == INT64_MAX)
        return INT64_MAX;
    const int64_t available = limit - usage + file_pages(directory, files);
    return available < 0 ? 0 : available < limit ? available : limit;
}

typedef int64_t group_value(const char *directory, const struct group_files *files);

/* Any ancestor of the group may have the limit, and inside a container the group's own path may not be visible: all
 * existing levels up to the mount point are read. */
static int64_t lowest_of_levels(const char *group, const struct group_files *files, group_value *value)
{
    char directory[PATH_LENGTH];
    int64_t lowest = INT64_MAX;
    snprintf(directory, sizeof directory, "%s%s", files->mount, group);
    for (;;) {
        const int64_t here = value(directory, files);
        if (here < lowest)
            lowest = here;
        char *slash = strrchr(directory, '/');
        if (!slash || strlen(directory) <= strlen(files->mount))
            return lowest;
        *slash = '\0';
    }
}

/* INT64_MAX without a limit. */
static int64_t lowest_of_groups(group_value *value)
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
        int64_t here = INT64_MAX;
        if (!controllers[1])
            here = lowest_of_levels(group, &version_2, value);
        else if (strstr(controllers + 1, "memory"))
            here = lowest_of_levels(group, &version_1, value);
        if (here < lowest)
            lowest = here;
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
    int64_t limit = lowest_of_groups(limit_of);
    *source = limit < physical ? "cgroup" : "physical";
    return limit < physical ? limit : physical;
}

int64_t available_memory_bytes(void)
{
    const int64_t kibibytes = find_number("/proc/meminfo", "MemAvailable: %lld");
    if (kibibytes <= 0 || kibibytes > physical_bytes() / 1024)
        return 0;
    const int64_t in_groups = lowest_of_groups(available_in), on_node = kibibytes * 1024;
    return in_groups < on_node ? in_groups : on_node;
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

#if COFFEECUP_SIMULATED
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
