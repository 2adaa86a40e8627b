/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_fields.h: the lines of requests, an operation each. The table of operations is at the end. */
#include <inttypes.h>
#include <string.h>

#include "trace_fields.h"
#include "trace_format.h"
#include "trace_read.h"
#include "units.h"

enum { MOST_PARTS = 1024 };

static void parse_open(struct reader *reader, struct trace_request *request)
{
    const bool inherits = request->operation == TRACE_INHERIT;
    request->handle = trace_new_handle(reader, 5);
    request->flags = trace_flag_names(reader, 6);
    request->bytes = trace_number(reader, 7, 0, INT64_MAX);
    if (inherits)
        request->offset = trace_number(reader, 8, 0, INT64_MAX);
    const int64_t bytes = request->bytes;
    const struct trace_file size = {
        .exists = !(request->flags & O_CREAT && bytes == 0), .bytes = bytes, .space_bytes = bytes, .end_bytes = bytes};
    request->file = trace_named_file(reader, inherits ? 9 : 8, &size);
    reader->handle[request->handle] =
        (struct handle){request->file, request->flags & O_ACCMODE, true, request->flags & O_APPEND};
}

static void parse_dup(struct reader *reader, struct trace_request *request)
{
    request->other = trace_new_handle(reader, 6);
    reader->handle[request->other] = reader->handle[request->handle];
}

static void parse_close(struct reader *reader, struct trace_request *request)
{
    reader->handle[request->handle].open = false;
}

static void parse_flags(struct reader *reader, struct trace_request *request)
{
    request->flags = trace_flag_names(reader, 6);
}

static void raise_to(int64_t *value, int64_t least)
{
    if (*value < least)
        *value = least;
}

static void parse_ftruncate(struct reader *reader, struct trace_request *request)
{
    request->bytes = trace_number(reader, 6, 0, INT64_MAX);
    raise_to(&reader->trace->file[reader->handle[request->handle].file].end_bytes, request->bytes);
}

/* A file that exists: its size is in field 5. */
static int existing_file(struct reader *reader, int name_field)
{
    const int64_t bytes = trace_number(reader, 5, 0, INT64_MAX);
    const struct trace_file size = {.exists = true, .bytes = bytes, .space_bytes = bytes, .end_bytes = bytes};
    return trace_named_file(reader, name_field, &size);
}

static void parse_truncate(struct reader *reader, struct trace_request *request)
{
    request->file = existing_file(reader, 7);
    request->bytes = trace_number(reader, 6, 0, INT64_MAX);
    raise_to(&reader->trace->file[request->file].end_bytes, request->bytes);
}

static void parse_unlink(struct reader *reader, struct trace_request *request)
{
    request->file = existing_file(reader, 6);
}

/* Under its new name, a file takes as much space as under its old one. */
static void parse_rename(struct reader *reader, struct trace_request *request)
{
    request->file = existing_file(reader, 6);
    struct trace_file size = reader->trace->file[request->file];
    size.exists = size.read = false;
    size.bytes = 0;
    request->other_file = trace_named_file(reader, 7, &size);
    struct trace_file *to = &reader->trace->file[request->other_file];
    raise_to(&to->space_bytes, size.space_bytes);
    raise_to(&to->end_bytes, size.end_bytes);
    to->written |= size.written;
}

static void parse_lseek(struct reader *reader, struct trace_request *request)
{
    static const struct trace_flag names[] = {{"SEEK_SET", SEEK_SET},
                                              {"SEEK_CUR", SEEK_CUR},
                                              {"SEEK_END", SEEK_END},
                                              {"SEEK_DATA", SEEK_DATA},
                                              {"SEEK_HOLE", SEEK_HOLE}};
    request->offset = trace_number(reader, 6, INT64_MIN, INT64_MAX);
    request->result = trace_number(reader, 8, 0, INT64_MAX);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(reader->field[7], names[i].name) == 0) {
            request->whence = names[i].bits;
            return;
        }
    trace_refuse(reader, "'%.40s' is not a way to seek", reader->field[7]);
}

static bool is_write(enum trace_operation operation)
{
    return operation == TRACE_WRITE || operation == TRACE_PWRITE || operation == TRACE_WRITEV ||
           operation == TRACE_PWRITEV;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a < INT64_MAX - b ? a + b : INT64_MAX;
}

static void check_access(const struct reader *reader, int handle, bool writes)
{
    if (reader->handle[handle].flags == (writes ? O_RDONLY : O_WRONLY))
        trace_refuse(reader, "handle %d was not opened for %s", handle, writes ? "writing" : "reading");
}

/* A replay requests all bytes, even if the recorded program moved fewer of them. */
static void account(struct reader *reader, int handle, bool writes, int64_t offset, int64_t requested, int64_t result)
{
    struct trace_file *file = &reader->trace->file[reader->handle[handle].file];
    check_access(reader, handle, writes);
    if (offset > INT64_MAX - result)
        trace_refuse(reader, "%" PRId64 " byte at offset %" PRId64 " are beyond the maximum size of a file", result,
                     offset);
    if (writes) {
        const int64_t bytes = lesser(requested, TRACE_MOST_TRANSFER), end = sum(offset, bytes);
        raise_to(&file->space_bytes, lesser(end, sum(file->space_bytes, bytes)));
        raise_to(&file->end_bytes, end);
    }
    *(writes ? &file->written : &file->read) |= result > 0;
    reader->trace->moved_bytes = sum(reader->trace->moved_bytes, result);
}

static void parse_fallocate(struct reader *reader, struct trace_request *request)
{
    request->flags = (int)trace_number(reader, 6, 0, UINT8_MAX);
    request->offset = trace_number(reader, 7, 0, INT64_MAX);
    request->bytes = trace_number(reader, 8, 1, INT64_MAX - request->offset);
    check_access(reader, request->handle, true);
    struct trace_file *file = &reader->trace->file[reader->handle[request->handle].file];
    file->space_bytes = sum(file->space_bytes, request->bytes);
    raise_to(&file->end_bytes, request->offset + request->bytes);
}

static void account_transfer(struct reader *reader, const struct trace_request *request)
{
    raise_to(&reader->trace->largest_request, request->bytes);
    account(reader, request->handle, is_write(request->operation), request->offset, request->bytes, request->result);
}

static void parse_transfer(struct reader *reader, struct trace_request *request)
{
    request->offset = trace_number(reader, 6, 0, INT64_MAX);
    request->bytes = trace_number(reader, 7, 0, INT64_MAX);
    request->result = trace_number(reader, 8, 0, request->bytes);
    account_transfer(reader, request);
}

static void parse_vector(struct reader *reader, struct trace_request *request)
{
    struct trace *trace = reader->trace;
    request->offset = trace_number(reader, 6, 0, INT64_MAX);
    request->result = trace_number(reader, 7, 0, INT64_MAX);
    request->first_part = trace->parts;
    request->parts = reader->fields - 8;
    if (request->parts > MOST_PARTS)
        trace_refuse(reader, "%d parts where at most %d belong", request->parts, MOST_PARTS);
    for (int i = 0; i < request->parts; i++) {
        const int64_t bytes = trace_number(reader, 8 + i, 0, INT64_MAX - request->bytes);
        trace->part = trace_room(trace->part, trace->parts, sizeof *trace->part);
        trace->part[trace->parts++] = bytes;
        request->bytes += bytes;
    }
    if (request->result > request->bytes)
        trace_refuse(reader, "%" PRId64 " byte were moved of %" PRId64, request->result, request->bytes);
    account_transfer(reader, request);
}

/* One side of a copy: its offset; the place in its file is returned. */
static int64_t parse_side(const struct reader *reader, int field, int *handle, int64_t *offset)
{
    *handle = trace_known_handle(reader, field);
    const int64_t place = trace_number(reader, field + 2, 0, INT64_MAX);
    const bool at = strcmp(reader->field[field + 1], "at") == 0;
    if (!at && strcmp(reader->field[field + 1], "pointer") != 0)
        trace_refuse(reader, "'%.40s' is neither 'at' nor 'pointer'", reader->field[field + 1]);
    *offset = at ? place : TRACE_POINTER;
    return place;
}

/* Programs ask for more than the file has that they copy from; what other processes wrote to it shows in the result
 * only. */
static int64_t copied_at_most(const struct reader *reader, const struct trace_request *request, int64_t from)
{
    const int64_t end = reader->trace->file[reader->handle[request->handle].file].end_bytes;
    const int64_t known = lesser(request->bytes, end > from ? end - from : 0);
    return known > request->result ? known : request->result;
}

static void parse_copy(struct reader *reader, struct trace_request *request)
{
    const int64_t from = parse_side(reader, 5, &request->handle, &request->offset);
    const int64_t to = parse_side(reader, 8, &request->other, &request->other_offset);
    request->bytes = trace_number(reader, 11, 0, INT64_MAX);
    request->result = trace_number(reader, 12, 0, request->bytes);
    check_access(reader, request->handle, false);
    account(reader, request->other, true, to, copied_at_most(reader, request, from), request->result);
}

static const struct {
    const char *name;
    int fields;      /* of the line; 0: differs */
    bool has_handle; /* its first one is the handle of an open descriptor */
    void (*parse)(struct reader *reader, struct trace_request *request);
} operations[TRACE_OPERATIONS] = {
    [TRACE_OPEN] = {"open", 9, false, parse_open},
    [TRACE_INHERIT] = {"inherit", 10, false, parse_open},
    [TRACE_CLOSE] = {"close", 6, true, parse_close},
    [TRACE_DUP] = {"dup", 7, true, parse_dup},
    [TRACE_FLAGS] = {"flags", 7, true, parse_flags},
    [TRACE_READ] = {"read", 9, true, parse_transfer},
    [TRACE_WRITE] = {"write", 9, true, parse_transfer},
    [TRACE_PREAD] = {"pread", 9, true, parse_transfer},
    [TRACE_PWRITE] = {"pwrite", 9, true, parse_transfer},
    [TRACE_READV] = {"readv", 0, true, parse_vector},
    [TRACE_WRITEV] = {"writev", 0, true, parse_vector},
    [TRACE_PREADV] = {"preadv", 0, true, parse_vector},
    [TRACE_PWRITEV] = {"pwritev", 0, true, parse_vector},
    [TRACE_LSEEK] = {"lseek", 9, true, parse_lseek},
    [TRACE_FSYNC] = {"fsync", 6, true, NULL},
    [TRACE_FDATASYNC] = {"fdatasync", 6, true, NULL},
    [TRACE_FTRUNCATE] = {"ftruncate", 7, true, parse_ftruncate},
    [TRACE_COPY_FILE_RANGE] = {"copy_file_range", 13, false, parse_copy},
    [TRACE_SENDFILE] = {"sendfile", 13, false, parse_copy},
    [TRACE_FALLOCATE] = {"fallocate", 9, true, parse_fallocate},
    [TRACE_TRUNCATE] = {"truncate", 8, false, parse_truncate},
    [TRACE_UNLINK] = {"unlink", 7, false, parse_unlink},
    [TRACE_RENAME] = {"rename", 8, false, parse_rename},
};

const char *trace_operation_name(enum trace_operation operation)
{
    return operations[operation].name;
}

void trace_parse_request(struct reader *reader)
{
    struct trace *trace = reader->trace;
    struct trace_request request = {.line = (int)reader->line, .operation = TRACE_OPERATIONS};
    if (reader->fields < 6)
        trace_refuse(reader, "%d fields where at least 6 belong", reader->fields);
    request.at = trace_number(reader, 1, 0, INT64_MAX / 4);
    request.duration = trace_number(reader, 2, 0, INT64_MAX / 4);
    request.thread = (int)trace_number(reader, 3, 1, INT32_MAX);
    for (int i = 0; i < TRACE_OPERATIONS; i++)
        if (strcmp(reader->field[4], operations[i].name) == 0)
            request.operation = (enum trace_operation)i;
    if (request.operation == TRACE_OPERATIONS)
        trace_refuse(reader, "'%.40s' is not an operation", reader->field[4]);
    if (operations[request.operation].fields && reader->fields != operations[request.operation].fields)
        trace_refuse(reader, "%d fields where %d belong", reader->fields, operations[request.operation].fields);
    if (operations[request.operation].has_handle)
        request.handle = trace_known_handle(reader, 5);
    if (operations[request.operation].parse)
        operations[request.operation].parse(reader, &request);
    if (request.handle)
        request.file = reader->handle[request.handle].file;
    if (request.operation == TRACE_COPY_FILE_RANGE || request.operation == TRACE_SENDFILE)
        request.other_file = reader->handle[request.other].file;
    if (request.at + request.duration > trace->end)
        trace->end = request.at + request.duration;
    trace->request = trace_room(trace->request, trace->requests, sizeof *trace->request);
    trace->request[trace->requests++] = request;
}
