/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_fields.h: the lines of requests, an operation each. The table of operations is at the end. */
#include <inttypes.h>
#include <string.h>

#include "trace_fields.h"
#include "trace_format.h"
#include "trace_read.h"
#include "units.h"

enum { MOST_PARTS = 1024 };

static bool parse_open(struct reader *reader, struct trace_request *request)
{
    const bool inherits = request->operation == TRACE_INHERIT;
    if (!trace_new_handle(reader, 5, &request->handle) || !trace_flag_names(reader, 6, &request->flags) ||
        !trace_number(reader, 7, 0, INT64_MAX, &request->bytes) ||
        (inherits && !trace_number(reader, 8, 0, INT64_MAX, &request->offset)))
        return false;
    const int64_t bytes = request->bytes;
    const struct trace_file size = {
        .exists = !(request->flags & O_CREAT && bytes == 0), .bytes = bytes, .space_bytes = bytes, .end_bytes = bytes};
    if (!trace_named_file(reader, inherits ? 9 : 8, &size, &request->file))
        return false;
    reader->handle[request->handle] =
        (struct handle){request->file, request->flags & O_ACCMODE, true, request->flags & O_APPEND};
    return true;
}

static bool parse_dup(struct reader *reader, struct trace_request *request)
{
    if (!trace_new_handle(reader, 6, &request->other))
        return false;
    reader->handle[request->other] = reader->handle[request->handle];
    return true;
}

static bool parse_close(struct reader *reader, struct trace_request *request)
{
    reader->handle[request->handle].open = false;
    return true;
}

static bool parse_flags(struct reader *reader, struct trace_request *request)
{
    return trace_flag_names(reader, 6, &request->flags);
}

static void raise_to(int64_t *value, int64_t least)
{
    if (*value < least)
        *value = least;
}

static bool parse_ftruncate(struct reader *reader, struct trace_request *request)
{
    if (!trace_number(reader, 6, 0, INT64_MAX, &request->bytes))
        return false;
    raise_to(&reader->trace->file[reader->handle[request->handle].file].end_bytes, request->bytes);
    return true;
}

static bool parse_truncate(struct reader *reader, struct trace_request *request)
{
    int64_t before;
    if (!trace_number(reader, 5, 0, INT64_MAX, &before) || !trace_number(reader, 6, 0, INT64_MAX, &request->bytes))
        return false;
    const struct trace_file size = {.exists = true, .bytes = before, .space_bytes = before, .end_bytes = before};
    if (!trace_named_file(reader, 7, &size, &request->file))
        return false;
    raise_to(&reader->trace->file[request->file].end_bytes, request->bytes);
    return true;
}

static bool parse_unlink(struct reader *reader, struct trace_request *request)
{
    int64_t before;
    if (!trace_number(reader, 5, 0, INT64_MAX, &before))
        return false;
    const struct trace_file size = {.exists = true, .bytes = before, .space_bytes = before, .end_bytes = before};
    return trace_named_file(reader, 6, &size, &request->file);
}

/* Under its new name, a file takes as much space as under its old one. */
static bool parse_rename(struct reader *reader, struct trace_request *request)
{
    if (!parse_unlink(reader, request))
        return false;
    struct trace_file size = reader->trace->file[request->file];
    size.exists = false;
    size.bytes = 0;
    if (!trace_named_file(reader, 7, &size, &request->other_file))
        return false;
    struct trace_file *to = &reader->trace->file[request->other_file];
    raise_to(&to->space_bytes, size.space_bytes);
    raise_to(&to->end_bytes, size.end_bytes);
    return true;
}

static bool parse_lseek(struct reader *reader, struct trace_request *request)
{
    static const struct trace_flag names[] = {{"SEEK_SET", SEEK_SET},
                                              {"SEEK_CUR", SEEK_CUR},
                                              {"SEEK_END", SEEK_END},
                                              {"SEEK_DATA", SEEK_DATA},
                                              {"SEEK_HOLE", SEEK_HOLE}};
    if (!trace_number(reader, 6, INT64_MIN, INT64_MAX, &request->offset) ||
        !trace_number(reader, 8, 0, INT64_MAX, &request->result))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(reader->field[7], names[i].name) == 0) {
            request->whence = names[i].bits;
            return true;
        }
    return trace_complain(reader, "'%.40s' is not a way to seek", reader->field[7]);
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

static bool may_access(struct reader *reader, int handle, bool writes)
{
    if (reader->handle[handle].flags != (writes ? O_RDONLY : O_WRONLY))
        return true;
    return trace_complain(reader, "handle %d was not opened for %s", handle, writes ? "writing" : "reading");
}

/* A replay requests all bytes, even if the recorded program moved fewer of them. */
static bool account(struct reader *reader, int handle, bool writes, int64_t offset, int64_t requested, int64_t result)
{
    struct trace_file *file = &reader->trace->file[reader->handle[handle].file];
    if (!may_access(reader, handle, writes))
        return false;
    if (offset > INT64_MAX - result)
        return trace_complain(reader, "%" PRId64 " byte at offset %" PRId64 " are beyond the maximum size of a file",
                              result, offset);
    if (writes) {
        const int64_t bytes = lesser(requested, TRACE_MOST_TRANSFER), end = sum(offset, bytes);
        raise_to(&file->space_bytes, lesser(end, sum(file->space_bytes, bytes)));
        raise_to(&file->end_bytes, end);
    }
    reader->trace->moved_bytes = sum(reader->trace->moved_bytes, result);
    return true;
}

static bool parse_fallocate(struct reader *reader, struct trace_request *request)
{
    int64_t mode;
    if (!trace_number(reader, 6, 0, UINT8_MAX, &mode) || !trace_number(reader, 7, 0, INT64_MAX, &request->offset) ||
        !trace_number(reader, 8, 1, INT64_MAX - request->offset, &request->bytes) ||
        !may_access(reader, request->handle, true))
        return false;
    struct trace_file *file = &reader->trace->file[reader->handle[request->handle].file];
    const int64_t end = request->offset + request->bytes;
    request->flags = (int)mode;
    file->space_bytes = sum(file->space_bytes, request->bytes);
    raise_to(&file->end_bytes, end);
    return true;
}

static bool account_transfer(struct reader *reader, const struct trace_request *request)
{
    raise_to(&reader->trace->largest_request, request->bytes);
    return account(reader, request->handle, is_write(request->operation), request->offset, request->bytes,
                   request->result);
}

static bool parse_transfer(struct reader *reader, struct trace_request *request)
{
    return trace_number(reader, 6, 0, INT64_MAX, &request->offset) &&
           trace_number(reader, 7, 0, INT64_MAX, &request->bytes) &&
           trace_number(reader, 8, 0, request->bytes, &request->result) && account_transfer(reader, request);
}

static bool parse_vector(struct reader *reader, struct trace_request *request)
{
    struct trace *trace = reader->trace;
    if (!trace_number(reader, 6, 0, INT64_MAX, &request->offset) ||
        !trace_number(reader, 7, 0, INT64_MAX, &request->result))
        return false;
    request->first_part = trace->parts;
    request->parts = reader->fields - 8;
    if (request->parts > MOST_PARTS)
        return trace_complain(reader, "%d parts where at most %d belong", request->parts, MOST_PARTS);
    for (int i = 0; i < request->parts; i++) {
        int64_t bytes;
        if (!trace_number(reader, 8 + i, 0, INT64_MAX - request->bytes, &bytes))
            return false;
        trace->part = trace_room(trace->part, trace->parts, sizeof *trace->part);
        trace->part[trace->parts++] = bytes;
        request->bytes += bytes;
    }
    if (request->result > request->bytes)
        return trace_complain(reader, "%" PRId64 " byte were moved of %" PRId64, request->result, request->bytes);
    return account_transfer(reader, request);
}

static bool parse_side(struct reader *reader, int field, int *handle, int64_t *offset, int64_t *place)
{
    if (!trace_known_handle(reader, field, handle) || !trace_number(reader, field + 2, 0, INT64_MAX, place))
        return false;
    const bool at = strcmp(reader->field[field + 1], "at") == 0;
    if (!at && strcmp(reader->field[field + 1], "pointer") != 0)
        return trace_complain(reader, "'%.40s' is neither 'at' nor 'pointer'", reader->field[field + 1]);
    *offset = at ? *place : TRACE_POINTER;
    return true;
}

/* Programs ask for more than the file has that they copy from; what other processes wrote to it shows in the result
 * only. */
static int64_t copied_at_most(const struct reader *reader, const struct trace_request *request, int64_t from)
{
    const int64_t end = reader->trace->file[reader->handle[request->handle].file].end_bytes;
    const int64_t known = lesser(request->bytes, end > from ? end - from : 0);
    return known > request->result ? known : request->result;
}

static bool parse_copy(struct reader *reader, struct trace_request *request)
{
    int64_t from, to;
    return parse_side(reader, 5, &request->handle, &request->offset, &from) &&
           parse_side(reader, 8, &request->other, &request->other_offset, &to) &&
           trace_number(reader, 11, 0, INT64_MAX, &request->bytes) &&
           trace_number(reader, 12, 0, request->bytes, &request->result) &&
           may_access(reader, request->handle, false) &&
           account(reader, request->other, true, to, copied_at_most(reader, request, from), request->result);
}

static const struct {
    const char *name;
    int fields;      /* of the line; 0: differs */
    bool has_handle; /* its first one is the handle of an open descriptor */
    bool (*parse)(struct reader *reader, struct trace_request *request);
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

bool trace_parse_request(struct reader *reader)
{
    struct trace *trace = reader->trace;
    struct trace_request request = {.line = (int)reader->line, .operation = TRACE_OPERATIONS};
    int64_t thread;
    if (reader->fields < 6)
        return trace_complain(reader, "%d fields where at least 6 belong", reader->fields);
    if (!trace_number(reader, 1, 0, INT64_MAX / 4, &request.at) ||
        !trace_number(reader, 2, 0, INT64_MAX / 4, &request.duration) ||
        !trace_number(reader, 3, 1, INT32_MAX, &thread))
        return false;
    request.thread = (int)thread;
    for (int i = 0; i < TRACE_OPERATIONS; i++)
        if (strcmp(reader->field[4], operations[i].name) == 0)
            request.operation = (enum trace_operation)i;
    if (request.operation == TRACE_OPERATIONS)
        return trace_complain(reader, "'%.40s' is not an operation", reader->field[4]);
    if (operations[request.operation].fields && reader->fields != operations[request.operation].fields)
        return trace_complain(reader, "%d fields where %d belong", reader->fields,
                              operations[request.operation].fields);
    if (operations[request.operation].has_handle && !trace_known_handle(reader, 5, &request.handle))
        return false;
    if (operations[request.operation].parse && !operations[request.operation].parse(reader, &request))
        return false;
    if (request.handle)
        request.file = reader->handle[request.handle].file;
    if (request.operation == TRACE_COPY_FILE_RANGE || request.operation == TRACE_SENDFILE)
        request.other_file = reader->handle[request.other].file;
    if (request.at + request.duration > trace->end)
        trace->end = request.at + request.duration;
    trace->request = trace_room(trace->request, trace->requests, sizeof *trace->request);
    trace->request[trace->requests++] = request;
    return true;
}
