/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "fail.h"
#include "scratch.h"

/* Pages are counted in a window of the file at a time. */
enum { NAME_LENGTH = 64, FILE_PATH_LENGTH = 4096, WINDOW_BYTES = 1 << 30, LEAST_PAGE_BYTES = 4096 };

static void file_path(const struct now *now, char path[FILE_PATH_LENGTH])
{
    char name[NAME_LENGTH];
    if (now->row->separate)
        snprintf(name, sizeof name, "n%d-type%d-rank%d", now->processes, now->type, now->stream.rank);
    else
        snprintf(name, sizeof name, "n%d-type%d", now->processes, now->type);
    scratch_path(path, FILE_PATH_LENGTH, name);
}

static int64_t cached_pages(int file, int64_t offset, int64_t bytes, int64_t page_bytes)
{
    static unsigned char in_cache[WINDOW_BYTES / LEAST_PAGE_BYTES];
    int64_t pages = 0;
    void *view = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, offset);
    if (view == MAP_FAILED)
        return -1;
    if (mincore(view, (size_t)bytes, in_cache) != 0)
        pages = -1;
    for (int64_t page = 0; pages >= 0 && page * page_bytes < bytes; page++)
        pages += in_cache[page] & 1;
    munmap(view, (size_t)bytes);
    return pages;
}

/* What of the file is still in this node's cache: all of it where that cannot be found out. */
static int64_t cached_bytes(const char *path)
{
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        return INT64_MAX;
    int64_t pages = 0;
    for (int64_t offset = 0; offset < status.st_size && pages >= 0; offset += WINDOW_BYTES) {
        const int64_t left = status.st_size - offset;
        const int64_t found = cached_pages(file, offset, left < WINDOW_BYTES ? left : WINDOW_BYTES, page_bytes);
        pages = found < 0 ? -1 : pages + found;
    }
    close(file);
    return pages < 0 ? status.st_size : pages * page_bytes;
}

/* Only what is on the disk can leave the cache. */
static void evict(const char *path, struct problem *problem)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 || fsync(file) != 0 ? errno : 0;
    if (!error)
        error = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (error)
        snprintf(problem->text, PROBLEM_LENGTH, "cannot evict its file from the cache: %s; run without --evict",
                 strerror(error));
    if (file >= 0)
        close(file);
}

static double slowest(MPI_Comm comm, double since)
{
    return agree_on_times(comm, MPI_Wtime() - since).slowest;
}

void open_files(struct now *now, MPI_Info hints, struct files *files)
{
    char path[FILE_PATH_LENGTH];
    struct problem problem = {0};
    file_path(now, path);
    files->cached_bytes = -1;
    if (now->method == METHOD_READ && now->state->request->evict) {
        evict(path, &problem);
        stop_on_problem(now,
                        &problem); /* all have evicted: no page is locked by another process that is about to drop it */
        const int64_t stayed = cached_bytes(path);
        MPI_CHECK(MPI_Allreduce(&stayed, &files->cached_bytes, 1, MPI_INT64_T, MPI_MAX, now->comm));
    }
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(&problem,
                 MPI_File_open(now->row->separate ? MPI_COMM_SELF : now->comm, path, methods[now->method].open_mode,
                               hints, &now->stream.file),
                 "open its file");
    files->open_seconds = slowest(now->comm, start);
    stop_on_problem(now, &problem);
}

void check_file_size(struct now *now, int64_t expected_bytes, struct files *files)
{
    struct problem problem = {0};
    MPI_Offset size = 0;
    note_problem(&problem, MPI_File_get_size(now->stream.file, &size), "ask for the size of its file");
    if (!problem.text[0] && size != expected_bytes)
        snprintf(problem.text, PROBLEM_LENGTH,
                 "its file has %" PRId64 " bytes where %" PRId64 " were written; is the disk full?", (int64_t)size,
                 expected_bytes);
    files->bytes = size;
    if (now->row->separate)
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &files->bytes, 1, MPI_INT64_T, MPI_SUM, now->comm));
    stop_on_problem(now, &problem);
}

void close_files(struct now *now, struct files *files)
{
    struct problem problem = {0};
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(&problem, MPI_File_close(&now->stream.file), "close its file");
    files->close_seconds = slowest(now->comm, start);
    stop_on_problem(now, &problem);
}
