/* SPDX-License-Identifier: Apache-2.0 */
/* See note.h. The note's name has a random part that only this run knows, so that no other file is mistaken for it. */
#include "note.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "end_record.h"
#include "fail.h"

enum { REASON_LENGTH = 1024 };

/* Global, because a handler has no arguments for it. */
static struct {
    char path[PATH_MAX], host[NOTE_HOST_BYTES];
    int rank;
    bool leaves, takes;
} note;

/* Rank 0: sets the path of the note, and returns the identity by which other processes recognise the same log. */
static int64_t choose_path(const char *log)
{
    struct stat status;
    uint64_t random = 0;
    char *absolute = realpath(log, NULL);
    note.path[0] = '\0';
    if (!absolute || stat(absolute, &status) != 0 || getrandom(&random, sizeof random, 0) != sizeof random ||
        snprintf(note.path, sizeof note.path, "%s.failure-%016jx", absolute, (uintmax_t)random) >=
            (int)sizeof note.path)
        note.path[0] = '\0';
    free(absolute);
    return note.path[0] ? (int64_t)status.st_ino : 0;
}

static bool sees_log(int64_t identity)
{
    char log[PATH_MAX];
    struct stat status;
    snprintf(log, sizeof log, "%s", note.path);
    char *suffix = strrchr(log, '.');
    if (!suffix)
        return false;
    *suffix = '\0';
    return stat(log, &status) == 0 && (int64_t)status.st_ino == identity;
}

void note_setup(const char *log, const char *host)
{
    int64_t identity = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &note.rank));
    snprintf(note.host, sizeof note.host, "%s", host);
    if (note.rank == 0)
        identity = choose_path(log);
    MPI_CHECK(MPI_Bcast(note.path, sizeof note.path, MPI_CHAR, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(&identity, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    note.takes = note.rank == 0 && note.path[0];
    note.leaves = note.rank != 0 && sees_log(identity);
}

/* Appends a text as part of a JSON string. Characters that are not printable ASCII become question marks. */
static char *put_escaped(char *at, const char *text)
{
    for (int i = 0; text[i] && i < REASON_LENGTH; i++) {
        if (text[i] == '"' || text[i] == '\\')
            *at++ = '\\';
        *at++ = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    return at;
}

size_t note_form(char text[NOTE_BYTES], int rank, const char *host, const char *reason)
{
    char *at = put_text(text, "{\"reason\":\"");
    at = put_escaped(at, reason);
    at = put_text(at, "\",\"rank\":");
    at = put_number(at, rank);
    at = put_text(at, ",\"host\":\"");
    at = put_escaped(at, host);
    at = put_text(at, "\"}");
    *at = '\0';
    return (size_t)(at - text);
}

bool note_leave_of(int rank, const char *reason)
{
    char text[NOTE_BYTES];
    if (!note.leaves)
        return false;
    const int file = open(note.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false; /* another process was first, or cannot write there: the message is in the run's output */
    const size_t bytes = note_form(text, rank, note.host, reason);
    text[bytes] = '\n';
    const ssize_t written = write(file, text, bytes + 1);
    (void)written; /* an incomplete note is not used */
    close(file);
    return true;
}

void note_leave(const char *reason)
{
    note_leave_of(note.rank, reason);
}

bool note_take(char text[NOTE_BYTES])
{
    if (!note.takes)
        return false;
    const int file = open(note.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t bytes = read(file, text, NOTE_BYTES - 1);
    close(file);
    unlink(note.path);
    if (bytes < 2 || text[0] != '{' || text[bytes - 1] != '\n')
        return false;
    text[bytes - 1] = '\0';
    return !strchr(text, '\n');
}

void note_forget(void)
{
    note.leaves = false;
}

const char *note_path(void)
{
    return note.takes || note.leaves ? note.path : "";
}

const char *note_host(void)
{
    return note.host;
}

void note_adopt(const char *path, const char *host, bool takes)
{
    snprintf(note.path, sizeof note.path, "%s", path);
    snprintf(note.host, sizeof note.host, "%s", host);
    note.takes = takes && path[0];
    note.leaves = !takes && path[0];
}
