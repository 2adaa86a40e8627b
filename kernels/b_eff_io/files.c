/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. */
#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "fail.h"
#include "mpi_io.h"
#include "page_cache.h"
#include "peers.h"
#include "scratch.h"

enum { NAME_LENGTH = 64, FILE_PATH_LENGTH = 4096 };

static void file_path(const struct step *now, char path[FILE_PATH_LENGTH])
{
    char name[NAME_LENGTH];
    if (now->row->separate)
        snprintf(name, sizeof name, "n%d-type%d-rank%d", now->processes, now->type, now->stream.rank);
    else
        snprintf(name, sizeof name, "n%d-type%d", now->processes, now->type);
    scratch_path(path, FILE_PATH_LENGTH, name);
}

static void evict(const char *path, struct problem *problem)
{
    const int error = page_cache_evict(path);
    if (error)
        snprintf(problem->text, PROBLEM_LENGTH, "cannot evict its file from the cache: %s; run without --evict",
                 strerror(error));
}

static double slowest(MPI_Comm comm, double since)
{
    return agree_on_times(comm, MPI_Wtime() - since).slowest;
}

static void begin_stream(struct step *now)
{
    now->stream = (struct stream){.comm = now->comm, .seed = now->state->request->seed, .hints = MPI_INFO_NULL};
    now->stream.file = MPI_FILE_NULL;
    MPI_CHECK(MPI_Comm_rank(now->comm, &now->stream.rank));
    MPI_CHECK(MPI_Comm_size(now->comm, &now->stream.ranks));
}

void open_files(struct step *now, int64_t chunk_bytes, struct files *files)
{
    char path[FILE_PATH_LENGTH];
    struct problem problem = {0};
    MPI_Info hints = hints_for(now->state->request->hints, methods[now->method].name, now->row->name, chunk_bytes);
    begin_stream(now);
    file_path(now, path);
    peers_access(path);
    files->cached_bytes = -1;
    if (now->method == METHOD_READ && now->state->request->evict) {
        evict(path, &problem);
        stop_on_problem(now, &problem); /* now all processes have evicted, and no page is locked by another one */
        const int64_t remaining = page_cache_bytes(path);
        MPI_CHECK(MPI_Allreduce(&remaining, &files->cached_bytes, 1, MPI_INT64_T, MPI_MAX, now->comm));
    }
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(&problem, now->row->files->open(&now->stream, now->row, path, methods[now->method].open_mode, hints),
                 "open its file");
    files->open_seconds = slowest(now->comm, start);
    stop_on_problem(now, &problem);
    if (hints != MPI_INFO_NULL)
        MPI_CHECK(MPI_Info_free(&hints));
    mpi_io_log_component(now->state->run->log, now->stream.file);
}

static void check_file_size(struct step *now, const char *path, int64_t expected_bytes, struct files *files)
{
    const struct file_calls *calls = now->row->files;
    struct problem problem = {0};
    struct stat status = {0};
    MPI_Offset size = 0;
    if (calls->bytes)
        note_problem(&problem, calls->bytes(&now->stream, &size), "get the size of its file");
    else if (stat(path, &status) != 0)
        snprintf(problem.text, PROBLEM_LENGTH, "cannot get the size of its file: %s", strerror(errno));
    else
        size = status.st_size;
    if (!problem.text[0] && (size < expected_bytes || (size > expected_bytes && calls->bytes)))
        snprintf(problem.text, PROBLEM_LENGTH, "its file has %" PRId64 " bytes, but %" PRId64 " were written; %s",
                 (int64_t)size, expected_bytes,
                 size < expected_bytes ? "is the disk full?" : "the MPI library wrote data at wrong offsets");
    files->bytes = size;
    if (now->row->separate)
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &files->bytes, 1, MPI_INT64_T, MPI_SUM, now->comm));
    stop_on_problem(now, &problem);
}

void close_files(struct step *now, int64_t expected_bytes, struct files *files)
{
    char path[FILE_PATH_LENGTH];
    struct problem problem = {0};
    file_path(now, path);
    if (now->row->files->bytes)
        check_file_size(now, path, expected_bytes, files);
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(&problem, now->row->files->close(&now->stream), "close its file");
    files->close_seconds = slowest(now->comm, start);
    stop_on_problem(now, &problem);
    if (!now->row->files->bytes)
        check_file_size(now, path, expected_bytes, files);
    if (now->row->separate || now->state->run->rank == 0)
        layout_of_file(path, &files->layout);
}

void remove_files(const struct step *now)
{
    char path[FILE_PATH_LENGTH];
    struct problem problem = {0};
    file_path(now, path);
    if ((now->row->separate || now->stream.rank == 0) && unlink(path) != 0)
        snprintf(problem.text, PROBLEM_LENGTH, "cannot remove its file: %s; was the directory removed during the run?",
                 strerror(errno));
    stop_on_problem(now, &problem);
}
