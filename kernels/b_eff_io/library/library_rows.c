/* SPDX-License-Identifier: Apache-2.0 */
/* See library_rows.h. The functions at the end of priomark_interface.h are defined here. One file is open at a time. */
#include "library_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "interfaces.h"

enum { REASON_LENGTH = 1024 };

static const uint64_t independent_types = 1u << TYPE_SEGMENTED;
static const uint64_t collective_types = 1u << TYPE_SCATTER | 1u << TYPE_SEGMENTED_COLLECTIVE;

static const char mpi_io[] = "mpi-io"; /* the interface that is none */
static char label[PRIOMARK_PATH_BYTES + sizeof ", through "];
static struct interfaces interfaces;
static const struct priomark_interface *of_type[TYPES];
static struct pattern_type rows[TYPES + 1];
static const struct request *requested;
static struct priomark_file file;

int64_t priomark_hint(const struct priomark_file *of_file, const char *name)
{
    (void)of_file;
    return interface_hint(&interfaces, name);
}

void priomark_value(struct priomark *run, const char *name, double value)
{
    (void)run, (void)name, (void)value; /* values of PRIOMark's cases, of which there are none */
}

void priomark_stop(const struct priomark_file *of_file, const char *what, const char *reason, ...)
{
    char why[REASON_LENGTH];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(why, sizeof why, reason, arguments);
    va_end(arguments);
    fail("cannot %s '%s' through %s: %s", what, of_file->path, of_file->interface->name, why);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* The most that a process writes to a file: its size is fixed when it is created. */
static int64_t part_bytes(enum type_number type, int processes)
{
    int64_t bytes = 0;
    for (int p = 0; p < PATTERNS; p++) {
        const struct pattern *pattern = &requested->pattern[p];
        if (pattern->type != type)
            continue;
        bytes += pattern->call_bytes ? pattern->call_bytes * calls_of_space(requested, pattern, processes)
                                     : requested->alignment_bytes;
    }
    return bytes;
}

static int open_file(struct stream *stream, const struct pattern_type *row, const char *path, int mode, MPI_Info hints)
{
    const enum type_number type = (enum type_number)(row - rows);
    (void)hints;
    file = (struct priomark_file){.interface = of_type[type],
                                  .shared = true,
                                  .reads_only = mode == methods[METHOD_READ].open_mode,
                                  .communicator = &stream->comm,
                                  .owner = stream->rank,
                                  .block_bytes = 1,
                                  .blocks = part_bytes(type, stream->ranks),
                                  .depth = 1};
    file.run_blocks = file.blocks;
    file.start = file.owner * file.blocks;
    snprintf(file.path, sizeof file.path, "%s", path);
    file.interface->open(&file, mode == methods[METHOD_WRITE].open_mode);
    return MPI_SUCCESS;
}

static int sync_file(struct stream *stream)
{
    (void)stream;
    file.interface->sync(&file);
    return MPI_SUCCESS;
}

static int close_file(struct stream *stream)
{
    (void)stream;
    file.interface->close(&file);
    return MPI_SUCCESS;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */

static bool has_view(const struct stream *stream)
{
    return stream->pattern->type == TYPE_SCATTER && file.interface->view;
}

/* The chunks of a process lie apart: an interface with a view accesses those of a call at once. */
static int position(struct stream *stream)
{
    const int64_t chunk_bytes = stream->pattern->chunk_bytes;
    if (!has_view(stream))
        return MPI_SUCCESS;
    file.start = stream->start + stream->rank * chunk_bytes;
    file.block_bytes = chunk_bytes;
    file.run_blocks = 1;
    file.stride_bytes = chunk_bytes * stream->ranks;
    file.interface->view(&file);
    return MPI_SUCCESS;
}

/* The bytes of an access: those of a call or, without a view, of a chunk. */
static int64_t piece_bytes(const struct stream *stream)
{
    return has_view(stream) ? stream->pattern->call_bytes : stream->pattern->chunk_bytes;
}

static int64_t place(const struct stream *stream, int64_t call, int64_t byte)
{
    return has_view(stream) ? call * stream->pattern->call_bytes
                            : rows[stream->pattern->type].offset(stream, call, byte);
}

static int write_call(struct stream *stream, const char *data, int64_t call)
{
    const int64_t piece = piece_bytes(stream);
    for (int64_t done = 0; done < stream->pattern->call_bytes; done += piece)
        file.interface->write(&file, data + done, piece, place(stream, call, done));
    return MPI_SUCCESS;
}

static int read_call(struct stream *stream, char *data, int64_t call)
{
    const int64_t piece = piece_bytes(stream);
    for (int64_t done = 0; done < stream->pattern->call_bytes; done += piece)
        file.interface->read(&file, data + done, piece, place(stream, call, done));
    return MPI_SUCCESS;
}

/* --- the interfaces ----------------------------------------------------------------------------------------------- */

static const char *fault_of(const struct priomark_interface *interface, bool collective)
{
    if (interface->collective != collective)
        return collective ? "its accesses are not collective" : "its accesses are collective";
    if (interface->objects || interface->direct || interface->stage)
        return "it stores objects, avoids the page cache or accesses memory of accelerators";
    return NULL;
}

/* Loads the interface of these types, if one of them was chosen. */
static void load(const char *name, uint64_t types)
{
    static const struct file_calls calls = {open_file, sync_file, NULL, close_file};
    char reason[REASON_LENGTH];
    types &= requested->types;
    if (!types)
        return;
    const struct priomark_interface *interface = interface_load(&interfaces, name, reason, sizeof reason);
    if (!interface)
        refuse("--interface: %s", reason);
    const char *fault = fault_of(interface, types & collective_types);
    if (fault)
        refuse("--interface: '%s' does not serve b_eff_io: %s", name, fault);
    for (int t = 0; t < TYPES; t++)
        if (types >> t & 1) {
            rows[t].position = position;
            rows[t].write = write_call;
            rows[t].read = read_call;
            rows[t].files = &calls;
            of_type[t] = interface;
        }
}

static void load_all(const char *name, const char *hints)
{
    static char directory[PRIOMARK_PATH_BYTES];
    char collective[64];
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    if (!interface_is_name(base))
        refuse("--interface: '%.80s' is neither %s nor the NAME of an interface, such as hdf5, or DIRECTORY/NAME of "
               "DIRECTORY/priomark_NAME.so",
               name, mpi_io);
    snprintf(directory, sizeof directory, "%.*s", (int)(slash ? slash - name : 0), name);
    interfaces.directory = slash ? directory : NULL;
    memcpy(rows, pattern_types, sizeof rows);
    snprintf(collective, sizeof collective, "%s-collective", base);
    load(base, independent_types);
    load(collective, collective_types);
    const char *problem = hints ? interface_hints(&interfaces, hints) : NULL;
    if (problem)
        refuse("--%s", problem);
}

/* Files of libraries are created with their full size, which would be most of the disk without a limit. */
bool library_begin(struct request *request, const char *name, const struct file_choices *files)
{
    if (!name)
        return false;
    snprintf(label, sizeof label, ", through %s", name);
    if (!files->space_limit)
        refuse("--interface: choose a --space-limit, so that all interfaces access the same data");
    if (request->types & ~(independent_types | collective_types))
        refuse("--interface: valid --types are scatter, segmented and segmented-collective");
    if (strcmp(name, mpi_io) == 0)
        return false;
    requested = request;
    request->rows = rows;
    load_all(name, files->hints);
    return true;
}

const char *library_label(void)
{
    return label;
}

json_t *library_json(void)
{
    return interfaces_json(&interfaces);
}
