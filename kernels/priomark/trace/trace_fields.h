/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a trace's lines: each function checks one field and complains if it is invalid. */
#pragma once

#include <jansson.h>

#include "trace.h"

enum { MOST_FIELDS = 1100 };

/* A handle: the index of its file and how it was opened. */
struct handle {
    int file, flags;
    bool open, append;
};

struct reader {
    struct trace *trace;
    json_t *files; /* path to index in `trace->file` */
    long line;
    char *field[MOST_FIELDS];
    int fields;
    struct handle *handle;
    int handles;
    const char *complaint;
    char text[160];
};

/* Notes the problem of the line; returns false. */
bool trace_complain(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for one more element of a list, which may move. */
void *trace_room(void *list, size_t count, size_t bytes);

bool trace_number(struct reader *reader, int field, int64_t lowest, int64_t highest, int64_t *value);
bool trace_known_handle(struct reader *reader, int field, int *handle); /* one that is open */
bool trace_new_handle(struct reader *reader, int field, int *handle);   /* one that is not */
bool trace_flag_names(struct reader *reader, int field, int *value);    /* "O_WRONLY|O_CREAT" */

/* The file that is named in a field; `file` becomes its index in the trace. A file that is named for the first time is
 * added; `size` describes it. */
bool trace_named_file(struct reader *reader, int field, const struct trace_file *size, int *file);

/* Parses a line `at ...` and adds the request to the trace (trace_requests.c). */
bool trace_parse_request(struct reader *reader);
