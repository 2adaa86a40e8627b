/* SPDX-License-Identifier: Apache-2.0 */
/* See removal.h. Paths are followed from descriptor to descriptor and through no symbolic link. The directory is
 * emptied by system calls only, because opendir() is not allowed in a signal handler. All files in it are removed,
 * including those that an MPI library created beside the run's own. */
#include "removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES_BYTES = 8192, ATTEMPTS = 3, LEVELS = 4 };

/* Opens an absolute path; -1 if a component of it is not a directory (a symbolic link, for example). */
static int open_without_links(const char *path)
{
    int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (directory >= 0 && *path) {
        char part[NAME_MAX + 1];
        size_t length = 0;
        while (*path == '/')
            path++;
        while (path[length] && path[length] != '/' && length < NAME_MAX) {
            part[length] = path[length];
            length++;
        }
        part[length] = '\0';
        path += length;
        if (length == 0)
            break;
        const int next = openat(directory, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(directory);
        directory = next;
    }
    return directory;
}

static bool is_name_of_run(const struct own_directory *own)
{
    const size_t length = strlen(own->program);
    return length > 0 && strncmp(own->name, own->program, length) == 0 && own->name[length] == '-' &&
           strlen(own->name) == length + 1 + RANDOM_LETTERS && !strchr(own->name, '/') && own->marker[0] &&
           !strchr(own->marker, '/');
}

static bool has_owner(int directory, const struct own_directory *own)
{
    struct stat status;
    return fstat(directory, &status) == 0 && status.st_uid == own->owner;
}

bool is_own_directory(int directory, const struct own_directory *own)
{
    struct stat marker;
    return has_owner(directory, own) && fstatat(directory, own->marker, &marker, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(marker.st_mode) && marker.st_uid == own->owner;
}

static void remove_entries(int directory, const char *marker, int levels);

/* Not what is mounted there, nor what belongs to somebody else. */
static void remove_folder(int parent, const char *name, int levels)
{
    struct stat above, status;
    const int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    if (fstat(parent, &above) == 0 && fstat(directory, &status) == 0 && status.st_dev == above.st_dev &&
        status.st_uid == above.st_uid)
        remove_entries(directory, "", levels);
    close(directory);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* What a sub-benchmark or an interface created: files, and `levels` of folders. */
static void remove_entries(int directory, const char *marker, int levels)
{
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
    for (long bytes; (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < bytes;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            const bool is_link = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
            if (!is_link && strcmp(entry->d_name, marker) != 0 && unlinkat(directory, entry->d_name, 0) != 0 &&
                errno == EISDIR && levels > 0)
                remove_folder(directory, entry->d_name, levels - 1);
            at += entry->d_reclen;
        }
    }
}

bool mark_own_directory(int directory, const struct own_directory *own)
{
    const int file = openat(directory, own->marker, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file >= 0 && close(file) == 0;
}

/* The marker is removed last. If another process has created a file meanwhile, it is created again for the next
 * attempt. */
static bool remove_once(int parent, const struct own_directory *own)
{
    const int directory = openat(parent, own->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool done = true;
    if (directory < 0)
        return true;
    if (is_own_directory(directory, own)) {
        remove_entries(directory, own->marker, LEVELS);
        unlinkat(directory, own->marker, 0);
        done = unlinkat(parent, own->name, AT_REMOVEDIR) == 0 || errno == ENOENT;
        if (!done)
            mark_own_directory(directory, own);
    } else if (!own->marked && has_owner(directory, own)) {
        unlinkat(parent, own->name, AT_REMOVEDIR); /* fails unless it is empty */
    }
    close(directory);
    return done;
}

bool remove_own_directory(const struct own_directory *own)
{
    bool done = false;
    const int parent = is_name_of_run(own) ? open_without_links(own->parent) : -1;
    if (parent < 0)
        return true;
    for (int attempt = 0; attempt < ATTEMPTS && !done; attempt++)
        done = remove_once(parent, own);
    close(parent);
    return done;
}
