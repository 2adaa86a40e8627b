/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_read.h: requests, and the head of a trace. */
#include "trace_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "trace_fields.h"
#include "trace_format.h"

enum { MOST_PARTS = 1024 };
static const long most_lines = 200000000;

static int file_of(struct trace *trace, const char *path)
{
    for (size_t i = trace->files; i-- > 0;) /* recent files are the most likely */
        if (strcmp(trace->file[i].path, path) == 0)
            return (int)i;
    return -1;
}

static bool parse_open(struct reader *reader, struct trace_request *request)
{
    struct trace *trace = reader->trace;
    const bool inherits = request->operation == TRACE_INHERIT;
    const int path = inherits ? 9 : 8;
    int64_t bytes;
    if (!trace_new_handle(reader, 5, &request->handle) || !trace_flag_names(reader, 6, &request->flags) ||
        !trace_number(reader, 7, 0, INT64_MAX, &bytes) ||
        (inherits && !trace_number(reader, 8, 0, INT64_MAX, &request->offset)))
        return false;
    if (reader->fields != path + 1)
        return trace_complain(reader, "%d fields where %d belong", reader->fields, path + 1);
    if (!trace_unescape(reader, reader->field[path]))
        return false;
    request->file = file_of(trace, reader->field[path]);
    if (request->file < 0) {
        trace->file = trace_room(trace->file, trace->files, sizeof *trace->file);
        request->file = (int)trace->files++;
        const bool made_here = request->flags & O_CREAT && bytes == 0;
        trace->file[request->file] =
            (struct trace_file){copy_text(reader->field[path]), !made_here, bytes, bytes, bytes};
    }
    reader->handle[request->handle] =
        (struct handle){request->file, request->flags & O_ACCMODE, true, request->flags & O_APPEND};
    return true;
}

static bool parse_dup(struct reader *reader, struct trace_request *request)
{
    if (!trace_known_handle(reader, 5, &request->handle) || !trace_new_handle(reader, 6, &request->other))
        return false;
    reader->handle[request->other] = reader->handle[request->handle];
    return true;
}

static bool parse_close(struct reader *reader, struct trace_request *request)
{
    if (!trace_known_handle(reader, 5, &request->handle))
        return false;
    reader->handle[request->handle].open = false;
    return true;
}

static bool parse_flags(struct reader *reader, struct trace_request *request)
{
    return trace_known_handle(reader, 5, &request->handle) && trace_flag_names(reader, 6, &request->flags);
}

static bool parse_handle(struct reader *reader, struct trace_request *request)
{
    return trace_known_handle(reader, 5, &request->handle);
}

static bool parse_ftruncate(struct reader *reader, struct trace_request *request)
{
    if (!trace_known_handle(reader, 5, &request->handle) || !trace_number(reader, 6, 0, INT64_MAX, &request->bytes))
        return false;
    struct trace_file *file = &reader->trace->file[reader->handle[request->handle].file];
    if (request->bytes > file->end_bytes)
        file->end_bytes = request->bytes;
    return true;
}

static bool parse_lseek(struct reader *reader, struct trace_request *request)
{
    static const struct trace_flag names[] = {{"SEEK_SET", SEEK_SET},
                                              {"SEEK_CUR", SEEK_CUR},
                                              {"SEEK_END", SEEK_END},
                                              {"SEEK_DATA", SEEK_DATA},
                                              {"SEEK_HOLE", SEEK_HOLE}};
    if (!trace_known_handle(reader, 5, &request->handle) ||
        !trace_number(reader, 6, INT64_MIN, INT64_MAX, &request->offset) ||
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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
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
        const int64_t bytes = least(requested, TRACE_MOST_TRANSFER), end = sum(offset, bytes);
        if (end > file->space_bytes)
            file->space_bytes = least(end, sum(file->space_bytes, bytes));
        if (end > file->end_bytes)
            file->end_bytes = end;
    }
    reader->trace->moved_bytes = sum(reader->trace->moved_bytes, result);
    return true;
}

static bool needs_buffer(struct reader *reader, int64_t bytes)
{
    if (bytes > reader->trace->largest_request)
        reader->trace->largest_request = bytes;
    return true;
}

static bool parse_transfer(struct reader *reader, struct trace_request *request)
{
    return trace_known_handle(reader, 5, &request->handle) && trace_number(reader, 6, 0, INT64_MAX, &request->offset) &&
           trace_number(reader, 7, 0, INT64_MAX, &request->bytes) &&
           trace_number(reader, 8, 0, request->bytes, &request->result) &&
           account(reader, request->handle, is_write(request->operation), request->offset, request->bytes,
                   request->result) &&
           needs_buffer(reader, request->bytes);
}

static bool parse_vector(struct reader *reader, struct trace_request *request)
{
    struct trace *trace = reader->trace;
    if (!trace_known_handle(reader, 5, &request->handle) || !trace_number(reader, 6, 0, INT64_MAX, &request->offset) ||
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
    return account(reader, request->handle, is_write(request->operation), request->offset, request->bytes,
                   request->result) &&
           needs_buffer(reader, request->bytes);
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
    const int64_t known = least(request->bytes, end > from ? end - from : 0);
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
    int fields; /* of the line; 0: differs */
    bool (*parse)(struct reader *reader, struct trace_request *request);
} operations[TRACE_OPERATIONS] = {
    [TRACE_OPEN] = {"open", 9, parse_open},
    [TRACE_INHERIT] = {"inherit", 10, parse_open},
    [TRACE_CLOSE] = {"close", 6, parse_close},
    [TRACE_DUP] = {"dup", 7, parse_dup},
    [TRACE_FLAGS] = {"flags", 7, parse_flags},
    [TRACE_READ] = {"read", 9, parse_transfer},
    [TRACE_WRITE] = {"write", 9, parse_transfer},
    [TRACE_PREAD] = {"pread", 9, parse_transfer},
    [TRACE_PWRITE] = {"pwrite", 9, parse_transfer},
    [TRACE_READV] = {"readv", 0, parse_vector},
    [TRACE_WRITEV] = {"writev", 0, parse_vector},
    [TRACE_PREADV] = {"preadv", 0, parse_vector},
    [TRACE_PWRITEV] = {"pwritev", 0, parse_vector},
    [TRACE_LSEEK] = {"lseek", 9, parse_lseek},
    [TRACE_FSYNC] = {"fsync", 6, parse_handle},
    [TRACE_FDATASYNC] = {"fdatasync", 6, parse_handle},
    [TRACE_FTRUNCATE] = {"ftruncate", 7, parse_ftruncate},
    [TRACE_COPY_FILE_RANGE] = {"copy_file_range", 13, parse_copy},
    [TRACE_SENDFILE] = {"sendfile", 13, parse_copy},
};

const char *trace_operation_name(enum trace_operation operation)
{
    return operations[operation].name;
}

static bool parse_request(struct reader *reader)
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
    for (int i = 0; i < TRACE_OPERATIONS; i++)
        if (strcmp(reader->field[4], operations[i].name) == 0)
            request.operation = (enum trace_operation)i;
    if (request.operation == TRACE_OPERATIONS)
        return trace_complain(reader, "'%.40s' is not an operation", reader->field[4]);
    if (operations[request.operation].fields && reader->fields != operations[request.operation].fields)
        return trace_complain(reader, "%d fields where %d belong", reader->fields,
                              operations[request.operation].fields);
    if (!operations[request.operation].parse(reader, &request))
        return false;
    trace->request = trace_room(trace->request, trace->requests, sizeof *trace->request);
    trace->request[trace->requests++] = request;
    return true;
}

static bool parse_line(struct reader *reader, char *line, size_t length)
{
    if (length == 0 || line[length - 1] != '\n' || strlen(line) != length)
        return trace_complain(reader, "the line was cut off, or is no text");
    line[length - 1] = 0;
    if (reader->line == 1)
        return strcmp(line, TRACE_FIRST_LINE) == 0 ||
               (strcmp(line, "stopped") == 0
                    ? trace_complain(reader, "the recording stopped because its file could not be written")
                    : trace_complain(reader, "a trace begins with '" TRACE_FIRST_LINE "'"));
    reader->fields = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (reader->fields == MOST_FIELDS)
            return trace_complain(reader, "more than %d fields", MOST_FIELDS);
        reader->field[reader->fields++] = word;
        if (reader->fields == 1 &&
            (strcmp(word, "command") == 0 || strcmp(word, "process") == 0 || strcmp(word, "unseen") == 0))
            return true; /* for people */
    }
    if (reader->fields && strcmp(reader->field[0], "at") == 0)
        return parse_request(reader);
    if (reader->fields == 2 && strcmp(reader->field[0], "start") == 0)
        return trace_number(reader, 1, 0, INT64_MAX / 4, &reader->trace->start);
    return trace_complain(reader, "neither a request ('at ...') nor a line of the head");
}

bool trace_read(struct trace *trace, const char *path, char *reason, size_t reason_bytes)
{
    struct reader reader = {.trace = trace};
    *trace = (struct trace){.path = copy_text(path)};
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    bool sound = file != NULL;
    if (!sound) {
        snprintf(reason, reason_bytes, "cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    for (ssize_t length; sound && (length = getline(&line, &room, file)) >= 0;) {
        reader.line++;
        sound = reader.line <= most_lines ? parse_line(&reader, line, (size_t)length)
                                          : trace_complain(&reader, "too many lines");
    }
    if (sound && ferror(file))
        sound = trace_complain(&reader, "cannot be read: %s", strerror(errno));
    if (sound && !reader.line) {
        reader.line = 1;
        sound = trace_complain(&reader, "the file is empty");
    }
    if (!sound)
        snprintf(reason, reason_bytes, "%s:%ld: %s; record the program again", path, reader.line, reader.complaint);
    free(line);
    free(reader.handle);
    fclose(file);
    return sound;
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->files; i++)
        free(trace->file[i].path);
    free((char *)trace->path);
    free(trace->file);
    free(trace->part);
    free(trace->request);
    *trace = (struct trace){0};
}
