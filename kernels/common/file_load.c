/* SPDX-License-Identifier: Apache-2.0 */
/* See file_load.h. A call that writes or reads cannot be interrupted: the load ends with the round in which the process
 * is told to stop, and the time of that round counts as well as its bytes. */
#include "file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "hang.h"
#include "io_error.h"
#include "memory.h"
#include "page_cache.h"
#include "peers.h"
#include "scratch.h"

static const char *const remedy_for_space = "run fewer processes";

struct rounds {
    const struct file_load *files;
    char path[PATH_MAX];
    int file, rank; /* of all processes */
    char *data;
    int64_t count;
    int64_t cached_left; /* bytes that the page cache kept, and that will be read from it */
    struct traffic traffic;
};

struct filesystem file_load_describe(const struct run *run, const char *directory, int64_t file_bytes)
{
    const struct filesystem filesystem = filesystem_describe(directory);
    filesystem_check_space(&filesystem, run->machine.ranks_on_node, run->ranks, (int64_t)run->ranks * file_bytes,
                           "free some space or run fewer processes");
    return filesystem;
}

static bool failed(struct rounds *rounds, const char *what, int error)
{
    snprintf(rounds->traffic.reason, REASON_BYTES, "cannot %s a file of the load %s in '%.200s': %s; %s", what,
             rounds->files->name, rounds->path, strerror(error), io_remedy(error, false, remedy_for_space));
    return false;
}

/* Both move the chunk at `place`; a call may move less than it was asked for. */
static bool write_chunk(struct rounds *rounds, int64_t place)
{
    for (int64_t done = 0; done < FILE_LOAD_CHUNK;) {
        const ssize_t bytes = pwrite(rounds->file, rounds->data + done, (size_t)(FILE_LOAD_CHUNK - done), place + done);
        if (bytes < 0 && errno != EINTR)
            return failed(rounds, "write", errno);
        done += bytes > 0 ? bytes : 0;
    }
    return true;
}

static bool read_chunk(struct rounds *rounds, int64_t place)
{
    for (int64_t done = 0; done < FILE_LOAD_CHUNK;) {
        const ssize_t bytes = pread(rounds->file, rounds->data + done, (size_t)(FILE_LOAD_CHUNK - done), place + done);
        if (bytes == 0 || (bytes < 0 && errno != EINTR))
            return failed(rounds, "read", bytes ? errno : ENODATA);
        done += bytes > 0 ? bytes : 0;
    }
    return true;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static bool evict(struct rounds *rounds)
{
    const int error = page_cache_evict(rounds->path);
    if (error)
        return failed(rounds, "sync", error);
    const int64_t cached = rounds->files->reads ? page_cache_bytes(rounds->path) : 0;
    rounds->cached_left = cached < rounds->files->file_bytes ? cached : rounds->files->file_bytes;
    return true;
}

static bool check_chunk(struct rounds *rounds, uint64_t position)
{
    size_t first;
    if (data_count_wrong(rounds->data, FILE_LOAD_CHUNK, (uint32_t)rounds->rank, position, &first) == 0)
        return true;
    snprintf(rounds->traffic.reason, REASON_BYTES,
             "byte %zu of a file of the load %s is not what was written to '%.200s'; have the file system examined",
             first, rounds->files->name, rounds->path);
    return false;
}

/* Where data is written and read, each round has other data, so that those of an earlier one are detected. */
static bool do_round(struct rounds *rounds)
{
    const struct file_load *files = rounds->files;
    const int64_t written = rounds->count++ * FILE_LOAD_CHUNK, place = written % files->file_bytes;
    const uint64_t position = (uint64_t)(files->writes ? written : place);
    peers_progress(0, place); /* the run hangs if what is measured does, whatever the load does */
    if (files->writes) {
        data_fill(rounds->data, FILE_LOAD_CHUNK, (uint32_t)rounds->rank, position);
        if (!write_chunk(rounds, place))
            return false;
        rounds->traffic.sent_bytes += FILE_LOAD_CHUNK;
    }
    if ((files->writes || place == 0) && !evict(rounds))
        return false;
    if (!files->reads)
        return true;
    if (!read_chunk(rounds, place))
        return false;
    const int64_t cached = rounds->cached_left < FILE_LOAD_CHUNK ? rounds->cached_left : FILE_LOAD_CHUNK;
    rounds->cached_left -= cached;
    rounds->traffic.cached_bytes += cached;
    rounds->traffic.received_bytes += FILE_LOAD_CHUNK;
    return check_chunk(rounds, position);
}

/* The file that is only read. */
static bool prepare(struct rounds *rounds)
{
    for (int64_t place = 0; place < rounds->files->file_bytes; place += FILE_LOAD_CHUNK) {
        peers_progress(0, place);
        data_fill(rounds->data, FILE_LOAD_CHUNK, (uint32_t)rounds->rank, (uint64_t)place);
        if (!write_chunk(rounds, place))
            return false;
    }
    return true;
}

/* A new file, unless it was prepared. */
static bool open_file(struct rounds *rounds)
{
    enum { NAME_BYTES = 64, MODE = 0600 };
    char name[NAME_BYTES];
    const int created = rounds->files->prepared ? 0 : O_CREAT | O_TRUNC;
    snprintf(name, sizeof name, "load-%s-rank%d", rounds->files->name, rounds->rank);
    scratch_path(rounds->path, sizeof rounds->path, name);
    peers_access(rounds->path);
    peers_enter(hang_patience_of_files(), "load %s", rounds->files->name);
    rounds->file = open(rounds->path, O_RDWR | created | O_CLOEXEC, MODE);
    return rounds->file >= 0 || failed(rounds, "open", errno);
}

static bool is_told(MPI_Request *stop)
{
    int told;
    MPI_CHECK(MPI_Test(stop, &told, MPI_STATUS_IGNORE));
    return told;
}

static struct rounds begin_rounds(const struct file_load *files, const struct load *load)
{
    struct rounds rounds = {.files = files, .file = -1, .data = buffer_allocate(FILE_LOAD_CHUNK)};
    MPI_CHECK(MPI_Comm_rank(load->control, &rounds.rank));
    return rounds;
}

struct traffic file_load_generate(struct file_load *files, const struct load *load)
{
    struct rounds rounds = begin_rounds(files, load);
    struct traffic *traffic = &rounds.traffic;
    MPI_Request stop, ready;
    MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_STOP, load->control, &stop));
    bool works = open_file(&rounds) && (files->writes || files->prepared || prepare(&rounds)) && do_round(&rounds);
    files->prepared = !files->writes && works;
    MPI_CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, TAG_READY, load->control, &ready));
    const double start = MPI_Wtime();
    traffic->sent_bytes = traffic->received_bytes = traffic->cached_bytes = 0;
    do {
        works = works && do_round(&rounds);
    } while (works && !is_told(&stop));
    traffic->seconds = MPI_Wtime() - start;
    traffic->sends = true;
    traffic->silent = traffic->sent_bytes + traffic->received_bytes == 0;
    if (rounds.file >= 0 && close(rounds.file) != 0 && works)
        failed(&rounds, "close", errno);
    peers_arrive();
    MPI_CHECK(MPI_Wait(&ready, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Wait(&stop, MPI_STATUS_IGNORE));
    buffer_free(rounds.data, FILE_LOAD_CHUNK);
    return rounds.traffic;
}
