/* SPDX-License-Identifier: Apache-2.0 */
/* See overlap.h. */
#include "overlap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "removal.h"

/* NOTICED is a time that no new file has: one second after the beginning of 1970. */
enum { MOST_RUNS = 16, NAME_BYTES = 64, NOTICED = 1 };

static struct {
    char names[MOST_RUNS][NAME_BYTES];
    int runs;
    bool noticed;
} overlap;

static void note(const char *name)
{
    for (int run = 0; run < overlap.runs; run++)
        if (strcmp(overlap.names[run], name) == 0)
            return;
    if (overlap.runs < MOST_RUNS)
        snprintf(overlap.names[overlap.runs++], NAME_BYTES, "%s", name);
}

static bool has_name_of_run(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash && dash > name && strlen(dash + 1) == RANDOM_LETTERS && strlen(name) < NAME_BYTES;
}

/* Sets the time of the marker in a directory; false if it has none. */
static bool notify(int parent, const char *name)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = NOTICED}};
    const int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = directory >= 0 ? fdopendir(directory) : NULL;
    bool marked = false;
    if (!entries) {
        if (directory >= 0)
            close(directory);
        return false;
    }
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strncmp(entry->d_name, MARKER_PREFIX, strlen(MARKER_PREFIX)) != 0)
            continue;
        (void)utimensat(directory, entry->d_name, times, AT_SYMLINK_NOFOLLOW);
        marked = true;
    }
    closedir(entries);
    return marked;
}

void overlap_look(const char *parent, const char *own)
{
    DIR *entries = opendir(parent);
    if (!entries)
        return;
    const int directory = dirfd(entries);
    for (const struct dirent *entry; directory >= 0 && (entry = readdir(entries)) != NULL;)
        if (has_name_of_run(entry->d_name) && strcmp(entry->d_name, own) != 0 && notify(directory, entry->d_name))
            note(entry->d_name);
    closedir(entries);
}

void overlap_look_at_marker(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && status.st_mtime == NOTICED)
        overlap.noticed = true;
}

json_t *overlap_json(void)
{
    if (overlap.runs == 0 && !overlap.noticed)
        return NULL;
    json_t *names = json_array();
    for (int run = 0; run < overlap.runs; run++)
        json_array_append_new(names, text_json(overlap.names[run]));
    return OBJECT(field_json("directories", names), field_bool("noticed_by_others", overlap.noticed));
}
