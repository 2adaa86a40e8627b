/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that change files by their names. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { NO_FILE = -1 };

/* A regular file that a call names, held open without access to its data, so that its path is known before and after.
 */
struct named {
    struct call call;
    int descriptor; /* NO_FILE: nothing to record */
    int64_t bytes;
    char path[PATH_MAX];
};

static void find(struct named *named, int directory, const char *path, int no_follow, bool also_directories)
{
    struct stat status;
    named->descriptor = NO_FILE;
    if (recording() && path)
        named->descriptor = (int)syscall(SYS_openat, directory, path, O_PATH | O_CLOEXEC | no_follow);
    if (named->descriptor < 0)
        return;
    if (fstat(named->descriptor, &status) == 0 &&
        (S_ISREG(status.st_mode) || (also_directories && S_ISDIR(status.st_mode))) &&
        handle_path(named->descriptor, named->path)) {
        named->bytes = status.st_size;
        return;
    }
    syscall(SYS_close, named->descriptor);
    named->descriptor = NO_FILE;
}

/* Keeps errno. */
static void begin(struct named *named, int directory, const char *path, int no_follow)
{
    const int error = errno;
    find(named, directory, path, no_follow, false);
    if (named->descriptor >= 0)
        named->call = call_begin_open();
    errno = error;
}

static void end(const struct named *named, const char *operation, bool done, const int64_t *number, const char *path)
{
    const int error = errno;
    struct line line;
    if (named->descriptor >= 0 && done) {
        call_line(&line, &named->call, operation, path ? 2 * LONGEST_PATH : LONGEST_PATH);
        line_number(&line, named->bytes);
        if (number)
            line_number(&line, *number);
        line_escaped(&line, named->path);
        if (path)
            line_escaped(&line, path);
        line_end(&line);
    }
    if (named->descriptor >= 0)
        syscall(SYS_close, named->descriptor);
    errno = error;
}

/* Whether a name is that of a regular file or of a directory to be recorded. Keeps errno. */
static bool names_recorded(int directory, const char *path)
{
    const int error = errno;
    struct named named;
    find(&named, directory, path, O_NOFOLLOW, true);
    const bool recorded = named.descriptor >= 0;
    if (recorded)
        syscall(SYS_close, named.descriptor);
    errno = error;
    return recorded;
}

/* --- truncate, unlink --------------------------------------------------------------------------------------------- */

RECORDER_EXPORT int truncate(const char *path, off_t bytes)
{
    struct named named;
    begin(&named, AT_FDCWD, path, 0);
    const int result = next_calls()->truncate(path, bytes);
    end(&named, "truncate", result == 0, &(int64_t){bytes}, NULL);
    return result;
}
int truncate64(const char *path, off_t bytes) RECORDER_ALIAS(truncate);

RECORDER_EXPORT int unlink(const char *path)
{
    struct named named;
    begin(&named, AT_FDCWD, path, O_NOFOLLOW);
    const int result = next_calls()->unlink(path);
    end(&named, "unlink", result == 0, NULL, NULL);
    return result;
}

RECORDER_EXPORT int unlinkat(int directory, const char *path, int flags)
{
    struct named named;
    begin(&named, directory, path, O_NOFOLLOW);
    const int result = next_calls()->unlinkat(directory, path, flags);
    end(&named, "unlink", result == 0, NULL, NULL);
    return result;
}

RECORDER_EXPORT int remove(const char *path)
{
    struct named named;
    begin(&named, AT_FDCWD, path, O_NOFOLLOW);
    const int result = next_calls()->remove(path);
    end(&named, "unlink", result == 0, NULL, NULL);
    return result;
}

/* --- rename, link ------------------------------------------------------------------------------------------------- */

/* The descriptor follows the file to its new name. A file that leaves or enters the recorded directory, a directory,
 * and an exchange are only counted. */
static void end_rename(struct named *named, int result, bool plain, int to_directory, const char *to)
{
    const int error = errno;
    struct named after = *named;
    bool inside = result == 0 && named->descriptor >= 0 && plain && handle_path(after.descriptor, after.path);
    if (result == 0 && !inside) {
        if (named->descriptor >= 0 || names_recorded(to_directory, to))
            call_unseen("rename", NULL);
    }
    end(named, "rename", inside, NULL, after.path);
    errno = error;
}

RECORDER_EXPORT int rename(const char *from, const char *to)
{
    struct named named;
    begin(&named, AT_FDCWD, from, O_NOFOLLOW);
    const int result = next_calls()->rename(from, to);
    end_rename(&named, result, true, AT_FDCWD, to);
    return result;
}

RECORDER_EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    struct named named;
    begin(&named, from_directory, from, O_NOFOLLOW);
    const int result = next_calls()->renameat(from_directory, from, to_directory, to);
    end_rename(&named, result, true, to_directory, to);
    return result;
}

RECORDER_EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags)
{
    struct named named;
    begin(&named, from_directory, from, O_NOFOLLOW);
    const int result = next_calls()->renameat2(from_directory, from, to_directory, to, flags);
    end_rename(&named, result, !(flags & RENAME_EXCHANGE), to_directory, to);
    return result;
}

static void note_link(int directory, const char *path, int result)
{
    if (result == 0 && names_recorded(directory, path))
        call_unseen("link", NULL);
}

RECORDER_EXPORT int link(const char *from, const char *to)
{
    const int result = next_calls()->link(from, to);
    note_link(AT_FDCWD, to, result);
    return result;
}

RECORDER_EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    const int result = next_calls()->linkat(from_directory, from, to_directory, to, flags);
    note_link(to_directory, to, result);
    return result;
}
