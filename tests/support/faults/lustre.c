/* SPDX-License-Identifier: Apache-2.0 */
/* Between a kernel and the operating system (loaded with LD_PRELOAD): every file has the attribute that Lustre would
 * give to a file with one stripe. Its target is the last number in the file's name, divided by 3: the remainder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static unsigned target_of(const char *path)
{
    const char *last = path + strlen(path);
    while (last > path && last[-1] >= '0' && last[-1] <= '9')
        last--;
    return (unsigned)atoi(last) % 3;
}

ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
    static ssize_t (*next)(const char *, const char *, void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getxattr");
    if (strcmp(name, "lustre.lov") != 0)
        return next(path, name, value, size);
    unsigned char layout[56] = {0xd0, 0x0b, 0xd1, 0x0b, 1, [26] = 16, [28] = 1, [52] = (unsigned char)target_of(path)};
    memcpy(value, layout, size < sizeof layout ? size : sizeof layout);
    return (ssize_t)sizeof layout;
}
