/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_fields.h. */
#include "trace_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "trace_format.h"

enum { FIRST_HANDLES = 64, UNORDERED_HANDLES = 4096 };

void trace_refuse(const struct reader *reader, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) /* quoted text may contain any byte */
        *c = *c >= ' ' && *c < 0x7f ? *c : '?';
    priomark_refuse(reader->run, "recording", "%s:%ld: %s; record the program again", reader->trace->path, reader->line,
                    text);
}

/* Doubles the list if it is full. */
void *trace_room(void *list, size_t count, size_t bytes)
{
    if (count & (count - 1)) /* full only at 0 and powers of two */
        return list;
    return reallocate(list, count ? 2 * count : 1, bytes);
}

int64_t trace_number(const struct reader *reader, int field, int64_t lowest, int64_t highest)
{
    char *end;
    errno = 0;
    if (field >= reader->fields)
        trace_refuse(reader, "%d fields where more belong", reader->fields);
    const int64_t value = strtoll(reader->field[field], &end, 10);
    if (errno || *end || end == reader->field[field] || value < lowest || value > highest)
        trace_refuse(reader, "'%.40s' is not a number from %" PRId64 " to %" PRId64, reader->field[field], lowest,
                     highest);
    return value;
}

int trace_known_handle(const struct reader *reader, int field)
{
    const int handle = (int)trace_number(reader, field, 1, INT32_MAX);
    if (handle >= reader->handles || !reader->handle[handle].open)
        trace_refuse(reader, "handle %d is not open here", handle);
    return handle;
}

int trace_new_handle(struct reader *reader, int field)
{
    /* Each handle has its own line; because of threads, lines may be in another order than handles. */
    const int handle = (int)trace_number(reader, field, 1, reader->line + UNORDERED_HANDLES);
    if (handle >= reader->handles) {
        const int handles = handle < FIRST_HANDLES ? FIRST_HANDLES : 2 * handle;
        reader->handle = reallocate(reader->handle, (size_t)handles, sizeof *reader->handle);
        memset(reader->handle + reader->handles, 0, (size_t)(handles - reader->handles) * sizeof *reader->handle);
        reader->handles = handles;
    }
    if (reader->handle[handle].open)
        trace_refuse(reader, "handle %d is open already", handle);
    if (handle >= reader->trace->handles)
        reader->trace->handles = handle + 1;
    return handle;
}

int trace_flag_names(const struct reader *reader, int field)
{
    bool has_mode = false;
    int value = 0;
    char *rest = NULL;
    if (field >= reader->fields)
        trace_refuse(reader, "%d fields where more belong", reader->fields);
    for (char *name = strtok_r(reader->field[field], "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
        bool known = false;
        for (int i = 0; i < KNOWN_MODES && !has_mode; i++)
            if (strcmp(name, trace_modes[i].name) == 0)
                value |= trace_modes[i].bits, known = has_mode = true;
        for (int i = 0; i < KNOWN_FLAGS && !known; i++)
            if (strcmp(name, trace_flags[i].name) == 0)
                value |= trace_flags[i].bits, known = true;
        if (!known)
            trace_refuse(reader, "'%.40s' is not a way to open a file", name);
    }
    if (!has_mode)
        trace_refuse(reader, "neither of O_RDONLY, O_WRONLY and O_RDWR");
    return value;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* %XX to bytes, in place. */
static void unescape(const struct reader *reader, char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        if (*from != '%') {
            *to = *from;
            continue;
        }
        const char digits[3] = {from[1], from[1] ? from[2] : 0, 0};
        char *end;
        const long byte = strtol(digits, &end, 16);
        if (end != digits + 2 || byte <= 0)
            trace_refuse(reader, "'%.40s' is not a path", from);
        *to = (char)byte;
        from += 2;
    }
    *to = 0;
    if (!*text)
        trace_refuse(reader, "an empty path");
}

/* FNV-1a */
static uint64_t hash_of(const char *path)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *c = path; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return hash;
}

int trace_named_file(struct reader *reader, int field, const struct trace_file *size)
{
    struct trace *trace = reader->trace;
    char *path = reader->field[field];
    unescape(reader, path);
    const json_t *known = json_object_get(reader->files, path);
    if (known)
        return (int)json_integer_value(known);
    const int file = (int)trace->files;
    trace->file = trace_room(trace->file, trace->files++, sizeof *trace->file);
    trace->file[file] = *size;
    trace->file[file].path = copy_text(path);
    trace->file[file].hash = hash_of(path);
    json_object_set_new_nocheck(reader->files, path, json_integer(file)); /* not checked: any bytes */
    return file;
}
