/* SPDX-License-Identifier: Apache-2.0 */
/* How data is accessed: a row of a table per access method (initial write, rewrite, read) and a row per pattern type
 * (paper, section 5.1 and figure 1). stream_position() prepares everything that an access requires, so that only its
 * MPI call is timed. */
#pragma once

#include <mpi.h>

#include "patterns.h"

enum method_number { METHOD_WRITE, METHOD_REWRITE, METHOD_READ, METHODS };

struct method {
    const char *name;
    int open_mode;
};
extern const struct method methods[METHODS + 1]; /* ended by a row without a name */

/* An open file as one rank sees it, and the pattern that it is positioned for. */
struct stream {
    MPI_File file;
    MPI_Comm comm; /* the partition's processes */
    int rank, ranks;
    MPI_Info hints;
    int64_t segment_bytes; /* distance of the processes' segments, for types with segments */
    uint64_t seed;         /* of random order */

    const struct pattern *pattern; /* NULL between patterns */
    int64_t start;                 /* offset of the pattern: in the file or, for types with segments, in the segment */
    int64_t repetitions;           /* of the write pass */
    int64_t shared_position;       /* of the shared file pointer */
    MPI_Datatype memory, view;
    int count; /* of `memory` in a call */
};

/* How the files of a pattern type are opened, forced to storage and closed. All return an MPI error code. `bytes` gives
 * the size of a file that has the data and nothing else; without it, the size is compared after closing, and the file
 * may be larger. */
struct pattern_type;
struct file_calls {
    int (*open)(struct stream *stream, const struct pattern_type *row, const char *path, int mode, MPI_Info hints);
    int (*sync)(struct stream *stream);
    int (*bytes)(struct stream *stream, MPI_Offset *bytes);
    int (*close)(struct stream *stream);
};
extern const struct file_calls mpi_io_files;

struct pattern_type {
    const char *name;
    bool averaged;
    bool collective;
    bool separate;  /* a file per process */
    bool segmented; /* a segment of the file per process */
    int64_t (*offset)(const struct stream *stream, int64_t call, int64_t byte);
    int (*position)(struct stream *stream);
    int (*write)(struct stream *stream, const char *data, int64_t call);
    int (*read)(struct stream *stream, char *data, int64_t call);
    const struct file_calls *files;
};
extern const struct pattern_type pattern_types[TYPES + 1]; /* ended by a row without a name */

/* The variant of type 1 with individual file pointers and a strided view. */
extern const struct pattern_type individual_pointers;

/* Where the next pattern starts: in files that all processes share, bytes of all processes are counted, otherwise those
 * of one process. */
int64_t start_of_next(const struct stream *stream, const struct pattern_type *type, const struct pattern *pattern,
                      int64_t repetitions);

/* Prepares the stream for a pattern's first call. Collective over stream->comm; returns an MPI error code. */
int stream_position(struct stream *stream, const struct pattern_type *type, const struct pattern *pattern,
                    int64_t start, int64_t repetitions);

/* Frees what stream_position() created. */
void stream_release(struct stream *stream);
