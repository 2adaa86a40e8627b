/* SPDX-License-Identifier: Apache-2.0 */
/* See log.h. A record goes out in one write() with the run's signals held back, so that neither a crash nor an
 * interruption ever leaves half a record in front of the `end` that the signal handler appends. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"
#include "memory.h"

struct log {
    int file;
    off_t bytes;
    long records;
    double start_seconds;
    char path[];
};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct log *log_open(const char *path, char *reason, size_t reason_bytes)
{
    const size_t path_bytes = strlen(path) + 1;
    struct log *log = allocate(1, sizeof *log + path_bytes);
    log->start_seconds = now_seconds();
    memcpy(log->path, path, path_bytes);
    log->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (log->file < 0) {
        const char *remedy = errno == EEXIST ? "choose another name with --log or remove it; a log is never overwritten"
                             : errno == ENOENT ? "create the directory first"
                                               : "choose a place that can be written with --log";
        snprintf(reason, reason_bytes, "cannot create the log '%s': %s; %s", path, strerror(errno), remedy);
        free(log);
        return NULL;
    }
    interrupt_watch(log->file, log->start_seconds);
    return log;
}

/* All or nothing: what a full disk left of a line is cut off again. */
static bool append(struct log *log, const char *line, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t count = write(log->file, line + done, length - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            int cause = count < 0 ? errno : ENOSPC;
            if (ftruncate(log->file, log->bytes) != 0) {
                /* nothing better can be done; the reader sees a broken last line */
            }
            errno = cause;
            return false;
        }
        done += (size_t)count;
    }
    log->bytes += (off_t)length;
    log->records++;
    return true;
}

static bool write_record(struct log *log, const char *kind, json_t *fields)
{
    json_t *record = json_pack("{s:s, s:I}", "record", kind, "sequence", (json_int_t)log->records);
    json_object_update(record, fields);
    json_decref(fields);
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(record);
    if (!text) {
        errno = EINVAL;
        return false;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* takes the place of the terminator: the line is written by its length */
    bool written = append(log, text, length + 1);
    free(text);
    return written;
}

void log_write(struct log *log, const char *kind, json_t *fields)
{
    if (!log)
        return;
    if (!fields)
        fail("record '%s' could not be formed (out of memory?)", kind);
    interrupt_hold();
    const bool written = write_record(log, kind, fields);
    const int cause = errno;
    interrupt_release(log->records);
    if (!written)
        fail("cannot write the log '%s': %s; free some space or choose another place with --log", log->path,
             strerror(cause));
}

int log_file(const struct log *log)
{
    return log->file;
}

bool log_close(struct log *log, const char *status, json_t *cause)
{
    if (!log)
        return true;
    json_t *fields = json_pack("{s:s, s:n, s:I, s:f}", "status", status, "reason", "records",
                               (json_int_t)log->records + 1, "elapsed_seconds", now_seconds() - log->start_seconds);
    if (cause)
        json_object_update(fields, cause);
    interrupt_hold(); /* a signal that comes with the end record must not append a second one */
    bool written = write_record(log, "end", fields);
    interrupt_forget();
    written = close(log->file) == 0 && written;
    if (!written && !cause) /* where there is a cause it has been printed */
        fprintf(stderr,
                "coffeecup: error: cannot finish the log '%s': %s; free some space or choose another place with "
                "--log\n",
                log->path, strerror(errno));
    json_decref(cause);
    free(log);
    return written;
}
