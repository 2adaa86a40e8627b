/* SPDX-License-Identifier: Apache-2.0 */
/* See log.h. A record is written by one write() with signals blocked, so that neither a crash nor an interruption
 * leaves half a record before the `end` that the signal handler appends. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fail.h"
#include "interrupt.h"
#include "memory.h"
#include "sha256.h"

enum { ALL_DIGITS = 17, FEW_DIGITS = 4 };

struct log {
    int file;
    off_t bytes;
    long records;
    double start_seconds;
    EVP_MD_CTX *sha256; /* of everything written so far */
    char path[];
};

struct log *log_open(const char *path, char *reason, size_t reason_bytes)
{
    const size_t path_bytes = strlen(path) + 1;
    struct log *log = allocate(1, sizeof *log + path_bytes);
    log->start_seconds = now_seconds();
    memcpy(log->path, path, path_bytes);
    log->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (log->file < 0) {
        const char *remedy = errno == EEXIST   ? "choose another name with --log; what exists is never overwritten"
                             : errno == ENOENT ? "create the directory first"
                                               : "choose a file name in a writable directory with --log";
        snprintf(reason, reason_bytes, "cannot create the log '%s': %s; %s", path, strerror(errno), remedy);
        free(log);
        return NULL;
    }
    log->sha256 = sha256_begin();
    interrupt_watch(log->file, log->start_seconds);
    return log;
}

/* Writes all or nothing: an incomplete line on a full disk is removed again. */
static bool append(struct log *log, const char *line, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t count = write(log->file, line + done, length - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            int cause = count < 0 ? errno : ENOSPC;
            if (ftruncate(log->file, log->bytes) != 0 || lseek(log->file, log->bytes, SEEK_SET) < 0) {
                /* nothing else can be done; the reader detects an incomplete last line */
            }
            errno = cause;
            return false;
        }
        done += (size_t)count;
    }
    sha256_add(log->sha256, line, length);
    log->bytes += (off_t)length;
    log->records++;
    return true;
}

static bool write_record(struct log *log, const char *kind, json_t *fields, size_t digits)
{
    json_t *record = OBJECT(field_text("record", kind), field_int("sequence", log->records));
    json_object_update_new(record, fields);
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(digits));
    json_decref(record);
    if (!text) {
        errno = EINVAL;
        return false;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* replaces the terminator: the line is written by its length */
    bool written = append(log, text, length + 1);
    free(text);
    return written;
}

static void log_digits(struct log *log, const char *kind, json_t *fields, size_t digits)
{
    if (!log) {
        json_decref(fields);
        return;
    }
    interrupt_hold();
    const bool written = write_record(log, kind, fields, digits);
    const int cause = errno;
    interrupt_release(log->records);
    if (!written)
        fail("cannot write the log '%s': %s; free some space or choose another directory with --log", log->path,
             strerror(cause));
}

void log_write(struct log *log, const char *kind, json_t *fields)
{
    log_digits(log, kind, fields, ALL_DIGITS);
}

void log_write_rounded(struct log *log, const char *kind, json_t *fields)
{
    log_digits(log, kind, fields, FEW_DIGITS);
}

int log_file(const struct log *log)
{
    return log->file;
}

bool log_close(struct log *log, const char *status, json_t *cause)
{
    if (!log)
        return true;
    json_t *fields =
        OBJECT(field_text("status", status), field_text("reason", NULL), field_int("records", log->records + 1),
               field_real("elapsed_seconds", now_seconds() - log->start_seconds));
    char end_time[UTC_BYTES], hex[SHA256_HEX_BYTES];
    utc_now(end_time);
    json_object_set_new(fields, "end_time", json_string(end_time));
    if (cause)
        json_object_update(fields, cause);
    interrupt_hold(); /* a signal meanwhile must not append a second end record */
    bool written = write_record(log, "end", fields, ALL_DIGITS);
    interrupt_forget();
    const bool removed = access(log->path, F_OK) != 0;
    written = close(log->file) == 0 && written;
    if (removed && !cause) /* a cause has been printed already */
        fprintf(stderr, "coffeecup: error: the log '%s' was removed or renamed during the run; rerun the benchmark\n",
                log->path);
    else if (!written && !cause)
        fprintf(stderr,
                "coffeecup: error: cannot finish the log '%s': %s; free some space or choose another directory with "
                "--log\n",
                log->path, strerror(errno));
    written = written && !removed;
    sha256_end(log->sha256, hex);
    if (written && !cause)
        printf("SHA-256 of the log %s: %s\n", log->path, hex);
    json_decref(cause);
    free(log);
    return written;
}
