/* SPDX-License-Identifier: Apache-2.0 */
/* See methods.h. */
#include "methods.h"

#include <limits.h>
#include <stddef.h>

#include "fail.h"
#include "random.h"
#include "units.h"

const struct method methods[METHODS + 1] = {
    {"write", MPI_MODE_CREATE | MPI_MODE_WRONLY},
    {"rewrite", MPI_MODE_WRONLY},
    {"read", MPI_MODE_RDONLY},
};

/* --- where a call's bytes lie in the file ------------------------------------------------------------------------- */

static int64_t offset_strided(const struct stream *stream, int64_t call, int64_t byte)
{
    const int64_t l = stream->pattern->chunk_bytes, chunks = stream->pattern->call_bytes / l;
    return stream->start + ((call * chunks + byte / l) * stream->ranks + stream->rank) * l + byte % l;
}

static int64_t offset_separate(const struct stream *stream, int64_t call, int64_t byte)
{
    return stream->start + call * stream->pattern->chunk_bytes + byte;
}

static int64_t offset_segmented(const struct stream *stream, int64_t call, int64_t byte)
{
    return stream->rank * stream->segment_bytes + offset_separate(stream, call, byte);
}

static int64_t offset_random(const struct stream *stream, int64_t call, int64_t byte)
{
    const uint64_t seed = stream->seed * 1000003 + (uint64_t)stream->rank;
    return offset_segmented(stream, random_place(call, stream->repetitions, seed), byte);
}

/* --- positioning -------------------------------------------------------------------------------------------------- */

/* A type of this many contiguous bytes. Sizes beyond the range of int consist of blocks of 1 MiB and a remainder. */
static MPI_Datatype type_of_bytes(int64_t bytes)
{
    MPI_Datatype type, mebibyte, blocks;
    if (bytes <= INT_MAX) {
        MPI_CHECK(MPI_Type_contiguous((int)bytes, MPI_BYTE, &type));
        return type;
    }
    MPI_CHECK(MPI_Type_contiguous((int)MIB, MPI_BYTE, &mebibyte));
    MPI_CHECK(MPI_Type_contiguous((int)(bytes / MIB), mebibyte, &blocks));
    const int lengths[] = {1, (int)(bytes % MIB)};
    const MPI_Aint places[] = {0, (MPI_Aint)(bytes / MIB * MIB)};
    const MPI_Datatype types[] = {blocks, MPI_BYTE};
    MPI_CHECK(MPI_Type_create_struct(lengths[1] ? 2 : 1, lengths, places, types, &type));
    MPI_CHECK(MPI_Type_free(&blocks));
    MPI_CHECK(MPI_Type_free(&mebibyte));
    return type;
}

/* Each process sees only its own chunks: l bytes, then a gap for the chunks of the others. */
static int position_strided(struct stream *stream)
{
    const int64_t l = stream->pattern->chunk_bytes;
    MPI_Datatype chunk = type_of_bytes(l);
    MPI_CHECK(MPI_Type_create_resized(chunk, 0, (MPI_Aint)(l * stream->ranks), &stream->view));
    MPI_CHECK(MPI_Type_commit(&stream->view));
    MPI_CHECK(MPI_Type_free(&chunk));
    return MPI_File_set_view(stream->file, stream->start + stream->rank * l, MPI_BYTE, stream->view, "native",
                             stream->hints);
}

/* After a pass with fewer calls than the write pass, the pointer is not where the next pattern begins. */
static int position_shared(struct stream *stream)
{
    if (stream->shared_position == stream->start)
        return MPI_SUCCESS;
    stream->shared_position = stream->start;
    return MPI_File_seek_shared(stream->file, stream->start, MPI_SEEK_SET);
}

static int position_individual(struct stream *stream)
{
    return MPI_File_seek(stream->file, pattern_types[stream->pattern->type].offset(stream, 0, 0), MPI_SEEK_SET);
}

static int position_nowhere(struct stream *stream)
{
    (void)stream;
    return MPI_SUCCESS;
}

/* --- the calls ---------------------------------------------------------------------------------------------------- */

/* By the file pointer. */
#define AT_POINTER(name, write_call, read_call)                                                  \
    static int write_##name(struct stream *stream, const char *data, int64_t call)               \
    {                                                                                            \
        (void)call;                                                                              \
        return write_call(stream->file, data, stream->count, stream->memory, MPI_STATUS_IGNORE); \
    }                                                                                            \
    static int read_##name(struct stream *stream, char *data, int64_t call)                      \
    {                                                                                            \
        (void)call;                                                                              \
        return read_call(stream->file, data, stream->count, stream->memory, MPI_STATUS_IGNORE);  \
    }

/* At the place of each call. */
#define AT_OFFSET(name, write_call, read_call)                                                               \
    static int write_##name(struct stream *stream, const char *data, int64_t call)                           \
    {                                                                                                        \
        return write_call(stream->file, offset_random(stream, call, 0), data, stream->count, stream->memory, \
                          MPI_STATUS_IGNORE);                                                                \
    }                                                                                                        \
    static int read_##name(struct stream *stream, char *data, int64_t call)                                  \
    {                                                                                                        \
        return read_call(stream->file, offset_random(stream, call, 0), data, stream->count, stream->memory,  \
                         MPI_STATUS_IGNORE);                                                                 \
    }

AT_POINTER(all, MPI_File_write_all, MPI_File_read_all)
AT_POINTER(ordered, MPI_File_write_ordered, MPI_File_read_ordered)
AT_POINTER(alone, MPI_File_write, MPI_File_read)
AT_OFFSET(at, MPI_File_write_at, MPI_File_read_at)
AT_OFFSET(at_all, MPI_File_write_at_all, MPI_File_read_at_all)

static int open_file(struct stream *stream, const struct pattern_type *row, const char *path, int mode, MPI_Info hints)
{
    return MPI_File_open(row->separate ? MPI_COMM_SELF : stream->comm, path, mode, hints, &stream->file);
}

static int sync_file(struct stream *stream)
{
    return MPI_File_sync(stream->file);
}

static int file_bytes(struct stream *stream, MPI_Offset *bytes)
{
    return MPI_File_get_size(stream->file, bytes);
}

static int close_file(struct stream *stream)
{
    return MPI_File_close(&stream->file);
}

const struct file_calls mpi_io_files = {open_file, sync_file, file_bytes, close_file};

/* Name, averaged, collective, separate, segmented, and the functions. */
#define ROW(...) {__VA_ARGS__, &mpi_io_files}

const struct pattern_type pattern_types[TYPES + 1] = {
    ROW("scatter", true, true, false, false, offset_strided, position_strided, write_all, read_all),
    ROW("shared", true, true, false, false, offset_strided, position_shared, write_ordered, read_ordered),
    ROW("separate", true, false, true, false, offset_separate, position_individual, write_alone, read_alone),
    ROW("segmented", true, false, false, true, offset_segmented, position_individual, write_alone, read_alone),
    ROW("segmented-collective", true, true, false, true, offset_segmented, position_individual, write_all, read_all),
    ROW("random", false, false, false, true, offset_random, position_nowhere, write_at, read_at),
    ROW("random-collective", false, true, false, true, offset_random, position_nowhere, write_at_all, read_at_all),
};

const struct pattern_type individual_pointers =
    ROW("shared", true, true, false, false, offset_strided, position_strided, write_all, read_all);

/* --- preparation -------------------------------------------------------------------------------------------------- */

static void describe_memory(struct stream *stream, int64_t bytes)
{
    stream->memory = MPI_BYTE;
    stream->count = (int)bytes;
    if (bytes <= INT_MAX)
        return;
    stream->memory = type_of_bytes(bytes);
    MPI_CHECK(MPI_Type_commit(&stream->memory));
    stream->count = 1;
}

int64_t start_of_next(const struct stream *stream, const struct pattern_type *type, const struct pattern *pattern,
                      int64_t repetitions)
{
    const int64_t mine = pattern->call_bytes * repetitions;
    return stream->start + (type->separate || type->segmented ? mine : mine * stream->ranks);
}

int stream_position(struct stream *stream, const struct pattern_type *type, const struct pattern *pattern,
                    int64_t start, int64_t repetitions)
{
    stream->pattern = pattern;
    stream->start = start;
    stream->repetitions = repetitions;
    stream->view = MPI_DATATYPE_NULL;
    describe_memory(stream, pattern->call_bytes);
    return type->position(stream);
}

void stream_release(struct stream *stream)
{
    if (stream->view != MPI_DATATYPE_NULL)
        MPI_CHECK(MPI_Type_free(&stream->view));
    if (stream->memory != MPI_BYTE)
        MPI_CHECK(MPI_Type_free(&stream->memory));
    stream->pattern = NULL;
}
