/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that this process starts and that cannot be recorded, because the dynamic linker does not load the recorder
 * into them. See recorder.h. */
#include "recorder.h"

#include <elf.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MOST_HEADERS = 64, HEAD_BYTES = 256, MOST_INTERPRETERS = 4 };

/* Whether the dynamic linker is to load this program. */
static bool names_linker(int file, const Elf64_Ehdr *head)
{
    Elf64_Phdr header;
    for (int i = 0; i < head->e_phnum && i < MOST_HEADERS; i++)
        if (syscall(SYS_pread64, file, &header, sizeof header, (long)head->e_phoff + i * (long)sizeof header) ==
                sizeof header &&
            header.p_type == PT_INTERP)
            return true;
    return false;
}

/* Whether the program is linked statically or has more rights than its caller: in both cases LD_PRELOAD does nothing.
 * For a script, the name of its interpreter replaces `head`. */
static bool is_unseen_program(int file, char head[HEAD_BYTES])
{
    struct stat status;
    Elf64_Ehdr elf;
    const long length = syscall(SYS_pread64, file, head, HEAD_BYTES - 1, 0L);
    head[length > 0 ? length : 0] = 0;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || length < (long)sizeof elf)
        return false;
    if (memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&elf, head, sizeof elf);
    return ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) || (status.st_mode & S_ISGID) ||
           (head[EI_CLASS] == ELFCLASS64 && !names_linker(file, &elf));
}

static bool is_unseen(const char *path)
{
    char head[HEAD_BYTES], name[PATH_MAX];
    const size_t path_bytes = strlen(path) + 1;
    if (path_bytes > sizeof name)
        return false;
    memcpy(name, path, path_bytes);
    for (int i = 0; i < MOST_INTERPRETERS; i++) {
        const int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return false;
        const bool unseen = is_unseen_program(file, head);
        syscall(SYS_close, file);
        if (unseen || strncmp(head, "#!", 2) != 0)
            return unseen;
        const char *begin = head + 2 + strspn(head + 2, " \t");
        const size_t length = strcspn(begin, " \t\n");
        memcpy(name, begin, length);
        name[length] = 0;
    }
    return false;
}

static bool preloads(char *const environment[])
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, "LD_PRELOAD=", 11) == 0 && strstr(*environment, "priomark_recorder"))
            return true;
    return false;
}

/* In a child of vfork() as well, which shares this memory and the trace. */
static void note_program(const char *path, char *const environment[])
{
    const int error = errno;
    if (trace_descriptor() >= 0 && path && syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0 &&
        (is_unseen(path) || !preloads(environment)))
        call_unseen("program", path);
    errno = error;
}

/* As execvp() searches. */
static void note_searched(const char *file, char *const environment[])
{
    const int error = errno;
    const char *folders = getenv("PATH");
    char path[PATH_MAX];
    if (!file || strchr(file, '/')) {
        note_program(file, environment);
        return;
    }
    if (!folders)
        folders = "/bin:/usr/bin";
    const size_t file_bytes = strlen(file) + 1;
    for (const char *end; *folders; folders = end + (*end != 0)) {
        for (end = folders; *end && *end != ':';)
            end++;
        const size_t length = (size_t)(end - folders);
        if (length + 1 + file_bytes > sizeof path)
            continue;
        memcpy(path, folders, length);
        path[length] = '/';
        memcpy(path + length + 1, file, file_bytes);
        if (syscall(SYS_faccessat, AT_FDCWD, length ? path : file, X_OK) == 0) {
            note_program(length ? path : file, environment);
            break;
        }
    }
    errno = error;
}

RECORDER_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    note_program(path, environment);
    return next_calls()->execve(path, arguments, environment);
}

RECORDER_EXPORT int execv(const char *path, char *const arguments[])
{
    note_program(path, environ);
    return next_calls()->execv(path, arguments);
}

RECORDER_EXPORT int execvp(const char *file, char *const arguments[])
{
    note_searched(file, environ);
    return next_calls()->execvp(file, arguments);
}

RECORDER_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    note_searched(file, environment);
    return next_calls()->execvpe(file, arguments, environment);
}

RECORDER_EXPORT int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    note_program(path, environment);
    return next_calls()->posix_spawn(process, path, actions, attributes, arguments, environment);
}

RECORDER_EXPORT int posix_spawnp(pid_t *process, const char *file, const posix_spawn_file_actions_t *actions,
                                 const posix_spawnattr_t *attributes, char *const arguments[],
                                 char *const environment[])
{
    note_searched(file, environment);
    return next_calls()->posix_spawnp(process, file, actions, attributes, arguments, environment);
}

/* --- arguments one by one: the same calls with a list ------------------------------------------------------------- */

static int count(va_list arguments)
{
    int words = 1;
    while (va_arg(arguments, char *))
        words++;
    return words;
}

#define LIST_OF_ARGUMENTS(first)        \
    va_list arguments;                  \
    va_start(arguments, first);         \
    const int words = count(arguments); \
    va_end(arguments);                  \
    char *word[words + 1];              \
    word[0] = (char *)(first);          \
    va_start(arguments, first);         \
    for (int i = 1; i <= words; i++)    \
        word[i] = va_arg(arguments, char *);

RECORDER_EXPORT int execl(const char *path, const char *first, ...)
{
    LIST_OF_ARGUMENTS(first)
    va_end(arguments);
    return execv(path, word);
}

RECORDER_EXPORT int execlp(const char *file, const char *first, ...)
{
    LIST_OF_ARGUMENTS(first)
    va_end(arguments);
    return execvp(file, word);
}

RECORDER_EXPORT int execle(const char *path, const char *first, ...)
{
    LIST_OF_ARGUMENTS(first)
    char *const *environment = va_arg(arguments, char *const *);
    va_end(arguments);
    return execve(path, word, environment);
}
