/* SPDX-License-Identifier: Apache-2.0 */
/* See filesystem.h. */
#include "filesystem.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <mntent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "fail.h"
#include "first_line.h"
#include "record.h"

static bool is_below(const char *path, const char *mount)
{
    const size_t length = strlen(mount);
    return strcmp(mount, "/") == 0 || (strncmp(path, mount, length) == 0 && (path[length] == '/' || !path[length]));
}

void find_mount(const char *list, const char *path, struct mount *mount)
{
    FILE *mounts = setmntent(list, "r");
    size_t longest = 0;
    *mount = (struct mount){.type = "unknown"};
    if (!mounts)
        return;
    for (struct mntent *entry; (entry = getmntent(mounts));) {
        if (strlen(entry->mnt_dir) >= longest && is_below(path, entry->mnt_dir)) {
            longest = strlen(entry->mnt_dir);
            snprintf(mount->type, sizeof mount->type, "%s", entry->mnt_type[0] ? entry->mnt_type : "unknown");
            snprintf(mount->source, sizeof mount->source, "%s", entry->mnt_fsname);
            snprintf(mount->point, sizeof mount->point, "%s", entry->mnt_dir);
            snprintf(mount->options, sizeof mount->options, "%s", entry->mnt_opts);
        }
    }
    endmntent(mounts);
}

/* A number of KiB in the file of a target, -1 if there is none. */
static int64_t kib_in(const char *folder, const char *file)
{
    char line[32];
    int64_t number;
    read_first_line(line, sizeof line, "%s/%s", folder, file);
    return sscanf(line, "%" SCNd64, &number) == 1 && number >= 0 && number <= INT64_MAX / 1024 ? number : -1;
}

void name_of_lustre(const char *source, char name[FILE_SYSTEM_NAME])
{
    const char *begin = strstr(source, ":/");
    const size_t length = begin ? strcspn(begin + 2, "/") : 0;
    snprintf(name, FILE_SYSTEM_NAME, "%.*s", length < FILE_SYSTEM_NAME ? (int)length : 0, begin ? begin + 2 : "");
}

/* Clients since Lustre 2.12 have these files in sysfs, earlier ones in proc. */
struct target fullest_target(const char *root, const struct mount *mount)
{
    static const char *const places[] = {"/sys/fs/lustre/osc", "/proc/fs/lustre/osc"};
    char name[FILE_SYSTEM_NAME];
    struct target fullest = {0};
    glob_t found = {0};
    name_of_lustre(mount->source, name);
    if (strcmp(mount->type, "lustre") != 0 || !name[0])
        return fullest;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char pattern[PATH_MAX];
        snprintf(pattern, sizeof pattern, "%s%s/%s-OST*-osc-*", root, places[i], name);
        glob(pattern, i ? GLOB_APPEND : 0, NULL, &found);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *folder = found.gl_pathv[i], *target = strrchr(folder, '/') + 1;
        const int64_t total = kib_in(folder, "kbytestotal"), free_kib = kib_in(folder, "kbytesavail");
        if (total <= 0 || free_kib < 0 || free_kib > total)
            continue; /* of a server that does not answer */
        if (!fullest.name[0] ||
            (double)free_kib / (double)total < (double)fullest.free_bytes / (double)fullest.total_bytes) {
            snprintf(fullest.name, sizeof fullest.name, "%.*s", (int)(strstr(target, "-osc-") - target), target);
            fullest.total_bytes = 1024 * total;
            fullest.free_bytes = 1024 * free_kib;
        }
    }
    globfree(&found);
    return fullest;
}

static bool is_secret(const char *option, size_t length)
{
    static const char *const words[] = {"pass", "secret", "key", "cred", "token", "cookie"};
    char name[MOUNT_TEXT];
    snprintf(name, sizeof name, "%.*s", (int)length, option);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* Two commas stand for one in the password of a CIFS share. */
json_t *mount_options_json(const char *options)
{
    json_t *list = json_array();
    char text[OPTIONS_TEXT];
    for (const char *option = options; *option;) {
        const size_t name = strcspn(option, ",=");
        size_t length = strcspn(option, ",");
        const bool hidden = name < length && is_secret(option, name);
        while (hidden && strncmp(option + length, ",,", 2) == 0)
            length += 2 + strcspn(option + length + 2, ",");
        snprintf(text, sizeof text, "%.*s%s", (int)(hidden ? name : length), option, hidden ? "=(not logged)" : "");
        if (length)
            json_array_append_new(list, text_json(text));
        option += length + (option[length] == ',');
    }
    return list;
}

json_t *mount_source_json(const char *source)
{
    char text[MOUNT_TEXT];
    const char *url = strstr(source, "://"), *host = url ? url + 3 : NULL;
    const size_t user = host ? strcspn(host, "/@") : 0;
    if (host && host[user] == '@')
        snprintf(text, sizeof text, "%.*s%s", (int)(host - source), source, host + user + 1);
    else
        snprintf(text, sizeof text, "%s", source);
    return text_or_null(text);
}

/* Blocks are counted in fragments, which can be smaller on FUSE than the f_bsize that is recommended for I/O. */
static int64_t fragment_of(const struct statfs *system)
{
    const int64_t bytes = system->f_frsize ? system->f_frsize : system->f_bsize;
    return bytes > 0 ? bytes : 0;
}

/* If a file system states an absurd size, as some FUSE file systems do, the largest representable size is used; without
 * a block size it is 0. */
static int64_t bytes_of(uint64_t blocks, const struct statfs *system)
{
    int64_t bytes;
    return __builtin_mul_overflow(blocks, fragment_of(system), &bytes) ? INT64_MAX : bytes;
}

/* Not negative, so that the maximum of its negative over the processes is valid, too. */
static int64_t identity_of(const struct statfs *system)
{
    uint32_t parts[2];
    memcpy(parts, &system->f_fsid, sizeof parts);
    return (int64_t)((system->f_blocks ^ (uint64_t)parts[0] << 31 ^ parts[1]) & INT64_MAX);
}

/* Returns 0 or an errno. `identity` distinguishes file systems. */
static int examine(const char *directory, struct filesystem *filesystem, int64_t *identity)
{
    struct stat status;
    struct statfs system;
    if (stat(directory, &status) != 0)
        return errno;
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    if (!realpath(directory, filesystem->directory) || statfs(directory, &system) != 0)
        return errno;
    *identity = identity_of(&system);
    filesystem->total_bytes = bytes_of(system.f_blocks, &system);
    /* more than all blocks means a negative number: only root may still write */
    filesystem->free_bytes = system.f_bavail <= system.f_blocks ? bytes_of(system.f_bavail, &system) : 0;
    filesystem->block_bytes = system.f_bsize > 0 ? system.f_bsize : 0;
    filesystem->fragment_bytes = fragment_of(&system);
    find_mount("/proc/self/mounts", filesystem->directory, &filesystem->mount);
    return 0;
}

struct filesystem filesystem_describe(const char *directory)
{
    struct filesystem filesystem = {.shared = true};
    int64_t identity = 0;
    int error = examine(directory, &filesystem, &identity);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (error)
        refuse("cannot use the directory '%s': %s; choose one that exists on every node with --directory", directory,
               strerror(error));
    int64_t mine[3] = {identity, -identity, -filesystem.free_bytes}, all[3];
    MPI_CHECK(MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    filesystem.shared = all[0] == -all[1];
    filesystem.free_bytes = -all[2];
    filesystem.fullest = fullest_target("", &filesystem.mount);
    MPI_CHECK(MPI_Bcast(filesystem.directory, sizeof filesystem.directory, MPI_CHAR, 0, MPI_COMM_WORLD));
    return filesystem;
}

json_t *filesystem_json(const struct filesystem *filesystem)
{
    const struct mount *mount = &filesystem->mount;
    const struct target *fullest = &filesystem->fullest;
    json_t *fields = OBJECT(
        field_text("directory", filesystem->directory), field_text("type", mount->type),
        field_json("source", mount_source_json(mount->source)), field_json("mount_point", text_or_null(mount->point)),
        field_json("mount_options", mount_options_json(mount->options)),
        field_int_or_null("block_bytes", filesystem->block_bytes > 0, filesystem->block_bytes),
        field_int_or_null("fragment_bytes", filesystem->fragment_bytes > 0, filesystem->fragment_bytes),
        field_int("total_bytes", filesystem->total_bytes), field_int("free_bytes", filesystem->free_bytes));
    if (fullest->name[0])
        json_object_set_new(fields, "fullest_target",
                            OBJECT(field_text("name", fullest->name), field_int("total_bytes", fullest->total_bytes),
                                   field_int("free_bytes", fullest->free_bytes)));
    return fields;
}

void filesystem_check_space(const struct filesystem *filesystem, int ranks_on_node, int ranks, int64_t bytes,
                            const char *remedy)
{
    /* a node's local disk must have space for the share of the node's processes */
    int most = ranks_on_node;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    const int64_t needed = filesystem->shared ? bytes : bytes / ranks * most;
    if (needed > filesystem->free_bytes)
        refuse("'%s' has %" PRId64 " bytes free, the run needs %" PRId64 "; %s", filesystem->directory,
               filesystem->free_bytes, needed, remedy);
}
