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

static bool parse_unseen(struct reader *reader, const char *kind)
{
    int i = 0;
    while (i < TRACE_UNSEEN_OTHER && (!kind || strcmp(kind, trace_unseen_names[i]) != 0))
        i++;
    reader->trace->unseen[i]++;
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
        if (reader->fields == 1 && (strcmp(word, "command") == 0 || strcmp(word, "process") == 0))
            return true; /* for people */
        if (reader->fields == 1 && strcmp(word, "unseen") == 0)
            return parse_unseen(reader, strtok_r(NULL, " ", &rest));
    }
    if (reader->fields && strcmp(reader->field[0], "at") == 0)
        return trace_parse_request(reader);
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
    const char *why;
    FILE *file = input_open(path, INT64_MAX, &why);
    bool sound = file != NULL;
    if (!sound) {
        snprintf(reason, reason_bytes, "cannot open '%s': %s", path, why);
        return false;
    }
    reader.files = json_object();
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
    sound = sound && trace_order(&reader);
    if (!sound)
        snprintf(reason, reason_bytes, "%s:%ld: %s; record the program again", path, reader.line, reader.complaint);
    free(line);
    free(reader.handle);
    json_decref(reader.files);
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
    free(trace->wait);
    free(trace->lane_first);
    free(trace->request);
    *trace = (struct trace){0};
}
