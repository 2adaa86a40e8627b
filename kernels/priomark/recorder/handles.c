/* SPDX-License-Identifier: Apache-2.0 */
/* The handles of recorded descriptors. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { DESCRIPTORS = 1 << 20, UNKNOWN = 0, NOT_RECORDED = -1 };

static atomic_int handle[DESCRIPTORS]; /* pages that are never touched cost nothing */
static atomic_int newest, highest = -1;

static bool is_in_table(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS;
}

/* Files of the kernel's state look like regular files, but are not recorded. */
static bool is_of_kernel(int descriptor)
{
    static const unsigned long magic[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                          DEBUGFS_MAGIC,    TRACEFS_MAGIC, SECURITYFS_MAGIC};
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0)
        return false;
    for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
        if ((unsigned long)status.f_type == magic[i])
            return true;
    return false;
}

static bool is_below(const char *path, const char *directory)
{
    const size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || length == 1);
}

/* Without symbolic links, so that all processes use the same name for the same file. */
bool handle_path(int descriptor, char *path)
{
    struct line name;
    line_begin(&name, 0);
    line_text(&name, "/proc/self/fd");
    char *const before = name.at;
    line_number(&name, descriptor);
    *before = '/';
    *name.at = 0;
    const ssize_t length = readlink(name.room, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0 && (!trace_below() || is_below(path, trace_below()));
}

/* Whether the file is to be recorded; if so, `path` is its path. */
static bool is_recorded(int descriptor, struct stat *status, char path[PATH_MAX])
{
    return fstat(descriptor, status) == 0 && S_ISREG(status->st_mode) && descriptor != trace_descriptor() &&
           !is_of_kernel(descriptor) && handle_path(descriptor, path);
}

static void remember(int descriptor, int value)
{
    atomic_store(&handle[descriptor], value);
    for (int most = highest; descriptor > most && !atomic_compare_exchange_weak(&highest, &most, descriptor);)
        ;
}

int handle_of(int descriptor)
{
    if (!is_in_table(descriptor))
        return NO_HANDLE;
    const int known = atomic_load_explicit(&handle[descriptor], memory_order_acquire);
    if (known != UNKNOWN)
        return known > 0 ? known : NO_HANDLE;

    struct stat status;
    char path[PATH_MAX];
    if (!is_recorded(descriptor, &status, path)) {
        if (fstat(descriptor, &status) == 0)
            remember(descriptor, NOT_RECORDED);
        return NO_HANDLE;
    }
    /* The line is written before other threads know the handle. If another thread does the same at this moment, the
     * later one loses, and its line belongs to a handle that is never used. */
    const int mine = atomic_fetch_add(&newest, 1) + 1;
    struct call now = call_begin_open();
    struct line line;
    call_line(&line, &now, "inherit", LONGEST_PATH);
    line_number(&line, mine);
    line_flags(&line, (int)syscall(SYS_fcntl, descriptor, F_GETFL));
    line_number(&line, status.st_size);
    line_number(&line, syscall(SYS_lseek, descriptor, 0L, SEEK_CUR));
    line_escaped(&line, path);
    line_end(&line);
    int expected = UNKNOWN;
    if (!atomic_compare_exchange_strong(&handle[descriptor], &expected, mine))
        return expected > 0 ? expected : NO_HANDLE;
    remember(descriptor, mine);
    return mine;
}

int handle_known(int descriptor)
{
    const int known = is_in_table(descriptor) ? handle[descriptor] : NO_HANDLE;
    return known > 0 ? known : NO_HANDLE;
}

int handle_open(const struct call *call, int descriptor, int flags)
{
    const int error = errno;
    struct stat status;
    char path[PATH_MAX];
    if (descriptor >= 0 && is_in_table(descriptor) && recording()) {
        if (is_recorded(descriptor, &status, path)) {
            const int mine = atomic_fetch_add(&newest, 1) + 1;
            struct line line;
            call_line(&line, call, "open", LONGEST_PATH);
            line_number(&line, mine);
            line_flags(&line, flags);
            line_number(&line, status.st_size);
            line_escaped(&line, path);
            line_end(&line);
            remember(descriptor, mine);
        } else {
            remember(descriptor, NOT_RECORDED);
        }
    }
    errno = error;
    return descriptor;
}

int handle_copy(int descriptor)
{
    if (!is_in_table(descriptor))
        return NO_HANDLE;
    const int mine = atomic_fetch_add(&newest, 1) + 1;
    remember(descriptor, mine);
    return mine;
}

int handle_forget(int descriptor)
{
    const int known = is_in_table(descriptor) ? atomic_exchange(&handle[descriptor], UNKNOWN) : NO_HANDLE;
    return known > 0 ? known : NO_HANDLE;
}

int handle_highest(void)
{
    return highest;
}

void handles_reset(void)
{
    for (int descriptor = 0; descriptor <= highest; descriptor++)
        atomic_store_explicit(&handle[descriptor], UNKNOWN, memory_order_relaxed);
    atomic_store(&newest, 0);
}
