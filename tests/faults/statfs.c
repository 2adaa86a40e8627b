/* What a file system says about itself (loaded with LD_PRELOAD): STATFS_ID is its id, two signed numbers with a colon between them;
 * STATFS_BLOCKS is its number of blocks, all of them free. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *system)
{
    int (*next)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    const int result = next(path, system);
    const char *id = getenv("STATFS_ID"), *blocks = getenv("STATFS_BLOCKS");
    int parts[2];
    if (id && sscanf(id, "%d:%d", &parts[0], &parts[1]) == 2)
        memcpy(&system->f_fsid, parts, sizeof parts);
    if (blocks)
        system->f_blocks = system->f_bfree = system->f_bavail = strtoull(blocks, NULL, 10);
    return result;
}
