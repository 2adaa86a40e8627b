/* SPDX-License-Identifier: Apache-2.0 */
/* See filesystem.h. */
#include "filesystem.h"

#include <errno.h>
#include <inttypes.h>
#include <mntent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "fail.h"
#include "machine.h"

static bool is_below(const char *path, const char *mount)
{
    const size_t length = strlen(mount);
    return strcmp(mount, "/") == 0 || (strncmp(path, mount, length) == 0 && (path[length] == '/' || !path[length]));
}

void find_mount(const char *path, char type[MOUNT_TEXT], char source[MOUNT_TEXT])
{
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    size_t longest = 0;
    snprintf(type, MOUNT_TEXT, "unknown");
    snprintf(source, MOUNT_TEXT, "unknown");
    if (!mounts)
        return;
    for (struct mntent *mount; (mount = getmntent(mounts));) {
        if (strlen(mount->mnt_dir) >= longest && is_below(path, mount->mnt_dir)) {
            longest = strlen(mount->mnt_dir);
            snprintf(type, MOUNT_TEXT, "%s", mount->mnt_type[0] ? mount->mnt_type : "unknown");
            snprintf(source, MOUNT_TEXT, "%s", mount->mnt_fsname);
        }
    }
    endmntent(mounts);
}

/* If a file system states an absurd size, as some FUSE file systems do, the largest representable size is used; without
 * a block size it is 0. Blocks are counted in fragments, which can be smaller on FUSE than the f_bsize that is
 * recommended for I/O. */
static int64_t bytes_of(uint64_t blocks, const struct statfs *system)
{
    int64_t bytes;
    const int64_t block_bytes = system->f_frsize ? system->f_frsize : system->f_bsize;
    if (block_bytes <= 0)
        return 0;
    return __builtin_mul_overflow(blocks, block_bytes, &bytes) ? INT64_MAX : bytes;
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
    char source[MOUNT_TEXT];
    find_mount(filesystem->directory, filesystem->type, source);
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
    MPI_CHECK(MPI_Bcast(filesystem.directory, sizeof filesystem.directory, MPI_CHAR, 0, MPI_COMM_WORLD));
    return filesystem;
}

json_t *filesystem_json(const struct filesystem *filesystem)
{
    return json_pack("{s:o, s:o, s:I, s:I}", "directory", text_json(filesystem->directory), "type",
                     text_json(filesystem->type), "total_bytes", (json_int_t)filesystem->total_bytes, "free_bytes",
                     (json_int_t)filesystem->free_bytes);
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
