/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of this process: its own file, one write() per line, so that nothing is lost if the program is killed, and
 * threads need no lock. See recorder.h. */
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../trace/trace_format.h"

enum { HIGH = 900, OLDEST_LIMIT = 1024, ATTEMPTS = 1000, COMMAND_BYTES = 4096 };

/* As at the start, because the program may change its environment and its directory. */
static char directory[PATH_MAX], below[PATH_MAX], trace_path[PATH_MAX];
static bool sees_streams;
static atomic_int trace = -1;
static atomic_long process; /* that writes to it */
static atomic_llong bytes, most_bytes;

bool recording(void)
{
    /* Not getpid(), which may cache: a child of vfork() shares this memory and needs its own number. */
    return atomic_load_explicit(&trace, memory_order_relaxed) >= 0 && syscall(SYS_getpid) == process;
}

int trace_descriptor(void)
{
    return trace;
}

const char *trace_below(void)
{
    return *below ? below : NULL;
}

/* Prints that a trace is missing or incomplete; the program continues. */
static void complain(const char *what, const char *name, int error)
{
    struct line line;
    line_begin(&line, 2 * PATH_MAX);
    line_text(&line, "priomark recorder: ");
    line_text(&line, what);
    if (name) {
        line_escaped(&line, name);
        line_text(&line, ": ");
        line_text(&line, strerror(error));
    }
    line_text(&line, "; this process is not recorded\n");
    const char *begin = line.mapped ? line.mapped : line.room;
    syscall(SYS_write, STDERR_FILENO, begin, (size_t)(line.at - begin));
    if (line.mapped)
        munmap(line.mapped, line.mapped_bytes);
}

/* A trace without a line is worthless, but looks like that of a shorter program: mark it as stopped. */
static void give_up(int descriptor, int error)
{
    static const char stopped[] = "stopped\n";
    atomic_store(&trace, -1);
    complain("cannot write to the trace in", directory, error);
    syscall(SYS_ftruncate, descriptor, 0L);
    syscall(SYS_write, descriptor, stopped, sizeof stopped - 1);
    syscall(SYS_close, descriptor);
}

/* Returns 0 or the error. Frees the line. */
static int append(struct line *line, int descriptor)
{
    char *begin = line->mapped ? line->mapped : line->room;
    if (line->at == line->end)
        line->at--;
    *line->at++ = '\n';
    const long long length = line->at - begin;
    /* Beyond the limit of file sizes, the program would get a SIGXFSZ because of the recorder. */
    const bool fits = atomic_fetch_add(&bytes, length) + length <= most_bytes;
    const long written = fits && descriptor >= 0 ? syscall(SYS_write, descriptor, begin, (size_t)length) : -1;
    const int error = written == length ? 0 : !fits ? EFBIG : written < 0 ? errno : ENOSPC;
    if (line->mapped)
        munmap(line->mapped, line->mapped_bytes);
    return error;
}

void line_end(struct line *line)
{
    const int descriptor = trace, error = append(line, descriptor);
    if (descriptor >= 0 && error)
        give_up(descriptor, error);
    errno = line->error;
}

void line_end_shared(struct line *line)
{
    const int descriptor = (int)syscall(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    append(line, descriptor);
    if (descriptor >= 0)
        syscall(SYS_close, descriptor);
    errno = line->error;
}

/* Above the low numbers, which the program expects to get, and below the common limit of 1024. */
static int move_high(int descriptor)
{
    struct rlimit limit = {.rlim_cur = OLDEST_LIMIT};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int lowest = limit.rlim_cur > HIGH ? HIGH : limit.rlim_cur > 32 ? (int)limit.rlim_cur - 16 : 0;
    const int high = next_calls()->fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
    const int error = errno;
    syscall(SYS_close, descriptor);
    errno = error;
    return high;
}

void trace_move_descriptor(void)
{
    atomic_store(&trace, move_high(trace));
}

static void put_name(struct line *line, int attempt)
{
    line_text(line, directory);
    line_text(line, "/");
    for (const char *c = program_invocation_short_name; *c; c++) {
        const bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.';
        const char letter[] = {plain ? *c : '_', 0};
        line_text(line, letter);
    }
    line_number(line, syscall(SYS_getpid));
    if (attempt) /* a process that calls exec */
        line_number(line, attempt);
    line_text(line, ".trace");
    for (char *c = line->mapped; c < line->at; c++)
        if (c > line->mapped + strlen(directory) && *c == ' ')
            *c = '-';
    *line->at = 0;
}

static int create(void)
{
    struct line name;
    int descriptor = -1;
    errno = EEXIST;
    for (int attempt = 0; descriptor < 0 && errno == EEXIST && attempt < ATTEMPTS; attempt++) {
        line_begin(&name, sizeof directory + NAME_MAX);
        if (!name.mapped)
            return -1;
        put_name(&name, attempt);
        descriptor =
            (int)syscall(SYS_openat, AT_FDCWD, name.mapped, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        const int error = errno;
        if (descriptor >= 0) /* so the name is not too long */
            memcpy(trace_path, name.mapped, (size_t)(name.at - name.mapped) + 1);
        munmap(name.mapped, name.mapped_bytes);
        errno = error;
    }
    return descriptor < 0 ? -1 : move_high(descriptor);
}

static void write_command(void)
{
    static char command[COMMAND_BYTES + 1];
    struct line line;
    line_begin(&line, 3 * sizeof command);
    line_text(&line, "command");
    const long descriptor = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const long length = descriptor < 0 ? 0 : syscall(SYS_read, descriptor, command, COMMAND_BYTES);
    for (long i = 0; i < length; i += (long)strlen(command + i) + 1)
        line_escaped(&line, command + i);
    if (descriptor >= 0)
        syscall(SYS_close, descriptor);
    line_end(&line);
}

void trace_clock_start(void); /* calls.c */

/* Also in a forked child, which has only this thread. */
static void begin_trace(void)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    struct timespec now;
    struct line line;
    const int descriptor = create();
    if (descriptor < 0) {
        complain("cannot create a trace in", directory, errno);
        return;
    }
    getrlimit(RLIMIT_FSIZE, &limit);
    atomic_store(&most_bytes, limit.rlim_cur > LLONG_MAX ? LLONG_MAX : (long long)limit.rlim_cur);
    atomic_store(&bytes, 0);
    atomic_store(&process, syscall(SYS_getpid));
    atomic_store(&trace, descriptor);

    line_begin(&line, 0);
    line_text(&line, TRACE_FIRST_LINE);
    line_end(&line);
    write_command();
    line_begin(&line, 0);
    line_text(&line, "process");
    line_number(&line, process);
    line_text(&line, " of");
    line_number(&line, syscall(SYS_getppid));
    line_end(&line);
    clock_gettime(CLOCK_REALTIME, &now);
    trace_clock_start();
    line_begin(&line, 0);
    line_text(&line, "start");
    line_number(&line, now.tv_sec * 1000000000LL + now.tv_nsec);
    line_end(&line);
    if (!sees_streams)
        call_unseen("streams", NULL);
}

static void after_fork(void)
{
    const int error = errno, parents = atomic_exchange(&trace, -1);
    if (parents >= 0) {
        syscall(SYS_close, parents);
        handles_reset();
        begin_trace();
    }
    errno = error;
}

/* Programs that this one starts may do so in another directory. Not by setenv(): that of bash replaces it, and changes
 * variables of the shell, which do not exist yet. */
static void make_absolute(const char *name, const char *absolute)
{
    const size_t length = strlen(name);
    for (char **entry = environ; *entry; entry++) {
        const char *old = strncmp(*entry, name, length) == 0 && (*entry)[length] == '=' ? *entry + length + 1 : "";
        char *text;
        if (*old && strcmp(old, absolute) != 0 && asprintf(&text, "%s=%s", name, absolute) > 0)
            *entry = text;
    }
}

/* The names of preloaded libraries, separated by blanks or colons; a name without a slash is searched for. */
static void make_preload_absolute(void)
{
    static char list[4 * PATH_MAX];
    size_t length = 0;
    for (const char *at = getenv("LD_PRELOAD"), *end; at && *at && length + PATH_MAX < sizeof list;
         at = end + (*end != 0)) {
        char name[PATH_MAX], absolute[PATH_MAX];
        for (end = at; *end && *end != ' ' && *end != ':';)
            end++;
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        const bool relative = name[0] != '/' && strchr(name, '/') && realpath(name, absolute);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%.1s", relative ? absolute : name, end);
    }
    make_absolute("LD_PRELOAD", list);
}

__attribute__((constructor)) static void start(void)
{
    const int error = errno;
    const char *folder = getenv("PRIOMARK_TRACE"), *only = getenv("PRIOMARK_TRACE_BELOW");
    next_calls();
    if (!folder || !*folder)
        complain("set PRIOMARK_TRACE to a directory for the traces", NULL, 0);
    else if (!realpath(folder, directory))
        complain("PRIOMARK_TRACE:", folder, errno);
    else if (only && *only && !realpath(only, below))
        complain("PRIOMARK_TRACE_BELOW:", only, errno);
    else {
        make_absolute("PRIOMARK_TRACE", directory);
        make_absolute("PRIOMARK_TRACE_BELOW", below);
        make_preload_absolute();
        sees_streams = streams_watch();
        begin_trace();
        pthread_atfork(NULL, NULL, after_fork);
    }
    errno = error;
}
