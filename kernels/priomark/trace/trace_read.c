/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_read.h: the lines of a trace that are not requests, and their sequence. */
#include "trace_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input_file.h"
#include "memory.h"
#include "trace_fields.h"
#include "trace_format.h"
#include "trace_order.h"

static const long most_lines = 200000000;

const char *const trace_unseen_names[TRACE_UNSEEN_KINDS] = {
    [TRACE_UNSEEN_STREAMS] = "streams",   [TRACE_UNSEEN_MMAP] = "mmap",     [TRACE_UNSEEN_AIO] = "aio",
    [TRACE_UNSEEN_IO_URING] = "io_uring", [TRACE_UNSEEN_SPLICE] = "splice", [TRACE_UNSEEN_COPY] = "copy",
    [TRACE_UNSEEN_RENAME] = "rename",     [TRACE_UNSEEN_LINK] = "link",     [TRACE_UNSEEN_PROGRAM] = "program",
    [TRACE_UNSEEN_OTHER] = "other"};

static void parse_unseen(struct reader *reader, const char *kind)
{
    int i = 0;
    while (i < TRACE_UNSEEN_OTHER && (!kind || strcmp(kind, trace_unseen_names[i]) != 0))
        i++;
    reader->trace->unseen[i]++;
}

static void check_first_line(const struct reader *reader, const char *line)
{
    if (strcmp(line, "stopped") == 0)
        trace_refuse(reader, "the recording stopped because its file could not be written");
    if (strcmp(line, TRACE_FIRST_LINE) != 0)
        trace_refuse(reader, "a trace begins with '" TRACE_FIRST_LINE "'");
}

static void parse_line(struct reader *reader, char *line)
{
    reader->fields = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (reader->fields == MOST_FIELDS)
            trace_refuse(reader, "more than %d fields", MOST_FIELDS);
        reader->field[reader->fields++] = word;
        if (reader->fields == 1 && (strcmp(word, "command") == 0 || strcmp(word, "process") == 0))
            return; /* for people */
        if (reader->fields == 1 && strcmp(word, "unseen") == 0) {
            parse_unseen(reader, strtok_r(NULL, " ", &rest));
            return;
        }
    }
    if (reader->fields && strcmp(reader->field[0], "at") == 0)
        trace_parse_request(reader);
    else if (reader->fields == 2 && strcmp(reader->field[0], "start") == 0)
        reader->trace->start = trace_number(reader, 1, 0, INT64_MAX / 4);
    else
        trace_refuse(reader, "neither a request ('at ...') nor a line of the head");
}

struct trace trace_read(const struct priomark *run, const char *path)
{
    struct trace trace = {.path = copy_text(path)};
    struct reader reader = {.run = run, .trace = &trace, .files = json_object()};
    char *line = NULL;
    size_t room = 0;
    const char *why;
    FILE *file = input_open(path, INT64_MAX, &why);
    if (!file)
        priomark_refuse(run, "recording", "cannot open '%s': %s", path, why);
    for (ssize_t length; (length = getline(&line, &room, file)) >= 0;) {
        if (++reader.line > most_lines)
            trace_refuse(&reader, "too many lines");
        if (length == 0 || line[length - 1] != '\n' || (ssize_t)strlen(line) != length)
            trace_refuse(&reader, "the line was cut off, or is no text");
        line[length - 1] = 0;
        if (reader.line == 1)
            check_first_line(&reader, line);
        else
            parse_line(&reader, line);
    }
    if (ferror(file))
        trace_refuse(&reader, "cannot be read: %s", strerror(errno));
    if (reader.line == 0) {
        reader.line = 1;
        trace_refuse(&reader, "the file is empty");
    }
    trace_order(&reader);
    free(line);
    free(reader.handle);
    json_decref(reader.files);
    fclose(file);
    return trace;
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->files; i++)
        free(trace->file[i].path);
    free((char *)trace->path);
    free(trace->file);
    free(trace->part);
    free(trace->wait);
    free(trace->lane_first);
    free(trace->request);
    *trace = (struct trace){0};
}
