/* SPDX-License-Identifier: Apache-2.0 */
/* See device_use.h. */
#include "device_use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "first_line.h"
#include "memory.h"

enum { PIECE = 1 << 20, PATH_LENGTH = 64, NAME_LENGTH = 64 };

static bool has_open(const char *process, dev_t number)
{
    char path[PATH_LENGTH];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    DIR *descriptors = opendir(path);
    const int folder = descriptors ? dirfd(descriptors) : -1;
    for (struct dirent *entry; folder >= 0 && !found && (entry = readdir(descriptors)) != NULL;) {
        struct stat status;
        found = fstatat(folder, entry->d_name, &status, 0) == 0 && S_ISBLK(status.st_mode) && status.st_rdev == number;
    }
    if (descriptors)
        closedir(descriptors);
    return found;
}

static void read_name(const char *process, char name[NAME_LENGTH])
{
    read_first_line(name, NAME_LENGTH, "/proc/%.20s/comm", process);
    if (!name[0])
        snprintf(name, NAME_LENGTH, "unknown");
}

void find_openers(dev_t number, char *reason, size_t bytes)
{
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && !reason[0] && (entry = readdir(processes)) != NULL;) {
        char name[NAME_LENGTH];
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) || atol(entry->d_name) == getpid() ||
            !has_open(entry->d_name, number))
            continue;
        read_name(entry->d_name, name);
        snprintf(reason, bytes, "process %s (%s) has it open; end that process", entry->d_name, name);
    }
    if (processes)
        closedir(processes);
}

static int64_t first_other(const char *piece)
{
    int64_t at = 0;
    while (!piece[at])
        at++;
    return at;
}

void find_content(int device, int64_t device_bytes, int64_t process_bytes, int processes, char *reason, size_t bytes)
{
    const int64_t range = process_bytes > device_bytes / processes ? device_bytes : process_bytes * processes;
    char *piece = allocate(1, PIECE), *zeros = allocate(1, PIECE);
    for (int64_t at = 0; at < range && !reason[0]; at += PIECE) {
        const size_t wanted = range - at < PIECE ? (size_t)(range - at) : PIECE;
        const ssize_t count = pread(device, piece, wanted, at);
        if (count != (ssize_t)wanted)
            snprintf(reason, bytes, "its content cannot be read: %s", count < 0 ? strerror(errno) : "it ends early");
        else if (memcmp(piece, zeros, wanted) != 0)
            snprintf(reason, bytes,
                     "it contains data (a byte other than 0 at offset %" PRId64 "), so somebody may need it; if nobody "
                     "does, set overwrite = true",
                     at + first_other(piece));
    }
    posix_fadvise(device, 0, 0, POSIX_FADV_DONTNEED); /* direct I/O must not meet these pages */
    free(piece);
    free(zeros);
}
