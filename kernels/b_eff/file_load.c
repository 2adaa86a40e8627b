/* SPDX-License-Identifier: Apache-2.0 */
/* See file_load.h. A call that writes or reads cannot be interrupted: the load ends with the round in which the process
 * is told to stop, and the time of that round counts as well as its bytes. */
#include "file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "io_error.h"
#include "memory.h"
#include "page_cache.h"
#include "scratch.h"

static const char *const remedy_for_space = "run fewer processes";

struct rounds {
    char path[PATH_MAX];
    int file, rank; /* of all processes */
    char *data;
    uint64_t count;
    struct traffic traffic;
};

struct filesystem file_load_describe(const struct run *run, const char *directory)
{
    const struct filesystem filesystem = filesystem_describe(directory);
    filesystem_check_space(&filesystem, run->machine.ranks_on_node, run->ranks, (int64_t)run->ranks * FILE_LOAD_BYTES,
                           "free some space or run fewer processes");
    return filesystem;
}

static bool failed(struct rounds *rounds, const char *what, int error)
{
    snprintf(rounds->traffic.reason, REASON_BYTES, "cannot %s a file of --load io in '%.200s': %s; %s", what,
             rounds->path, strerror(error), io_remedy(error, false, remedy_for_space));
    return false;
}

/* A call may move less than it was asked for. */
static bool write_chunk(struct rounds *rounds)
{
    for (int64_t done = 0; done < FILE_LOAD_BYTES;) {
        const ssize_t bytes = pwrite(rounds->file, rounds->data + done, (size_t)(FILE_LOAD_BYTES - done), done);
        if (bytes < 0 && errno != EINTR)
            return failed(rounds, "write", errno);
        done += bytes > 0 ? bytes : 0;
    }
    return true;
}

static bool read_chunk(struct rounds *rounds)
{
    for (int64_t done = 0; done < FILE_LOAD_BYTES;) {
        const ssize_t bytes = pread(rounds->file, rounds->data + done, (size_t)(FILE_LOAD_BYTES - done), done);
        if (bytes == 0 || (bytes < 0 && errno != EINTR))
            return failed(rounds, "read", bytes ? errno : ENODATA);
        done += bytes > 0 ? bytes : 0;
    }
    return true;
}

/* Each round has other data, so that those of an earlier one are detected. Adds the bytes that had to be read from the
 * page cache, because the file system keeps them there. */
static bool do_round(struct rounds *rounds)
{
    const uint64_t position = rounds->count++ * FILE_LOAD_BYTES;
    size_t first;
    data_fill(rounds->data, FILE_LOAD_BYTES, (uint32_t)rounds->rank, position);
    if (!write_chunk(rounds))
        return false;
    const int error = page_cache_evict(rounds->path);
    if (error)
        return failed(rounds, "sync", error);
    const int64_t cached = page_cache_bytes(rounds->path);
    rounds->traffic.cached_bytes += cached < FILE_LOAD_BYTES ? cached : FILE_LOAD_BYTES;
    if (!read_chunk(rounds))
        return false;
    rounds->traffic.sent_bytes += FILE_LOAD_BYTES;
    rounds->traffic.received_bytes += FILE_LOAD_BYTES;
    if (data_count_wrong(rounds->data, FILE_LOAD_BYTES, (uint32_t)rounds->rank, position, &first) > 0) {
        snprintf(rounds->traffic.reason, REASON_BYTES,
                 "byte %zu of a file of --load io is not what was written to '%.200s'; have the file system examined",
                 first, rounds->path);
        return false;
    }
    return true;
}

static bool open_file(struct rounds *rounds)
{
    enum { NAME_BYTES = 32, MODE = 0600 };
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "rank%d", rounds->rank);
    scratch_path(rounds->path, sizeof rounds->path, name);
    rounds->file = open(rounds->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, MODE);
    return rounds->file >= 0 || failed(rounds, "open", errno);
}

static bool is_told(MPI_Request *stop)
{
    int told;
    MPI_CHECK(MPI_Test(stop, &told, MPI_STATUS_IGNORE));
    return told;
}

struct traffic generate_io(const struct load *load)
{
    struct rounds rounds = {.data = buffer_allocate(FILE_LOAD_BYTES)};
    MPI_Request stop, ready;
    MPI_CHECK(MPI_Comm_rank(load->control, &rounds.rank));
    MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_STOP, load->control, &stop));
    bool works = open_file(&rounds) && do_round(&rounds);
    const int64_t cached = rounds.traffic.cached_bytes;
    MPI_CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, TAG_READY, load->control, &ready));
    const double start = MPI_Wtime();
    rounds.traffic.sent_bytes = rounds.traffic.received_bytes = 0;
    do {
        works = works && do_round(&rounds);
    } while (works && !is_told(&stop));
    rounds.traffic.seconds = MPI_Wtime() - start;
    rounds.traffic.cached_bytes -= cached;
    rounds.traffic.sends = true;
    if (rounds.file >= 0 && close(rounds.file) != 0 && works)
        failed(&rounds, "close", errno);
    MPI_CHECK(MPI_Wait(&ready, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Wait(&stop, MPI_STATUS_IGNORE));
    buffer_free(rounds.data, FILE_LOAD_BYTES);
    return rounds.traffic;
}
