/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a trace's lines: each function checks one field, and refuses the trace if it is invalid. */
#pragma once

#include <jansson.h>

#include "priomark.h"
#include "trace.h"

enum { MOST_FIELDS = 1100 };

/* A handle: the index of its file and how it was opened. */
struct handle {
    int file, flags;
    bool open, append;
};

struct reader {
    const struct priomark *run;
    struct trace *trace;
    json_t *files; /* path to index in `trace->file` */
    long line;
    char *field[MOST_FIELDS];
    int fields;
    struct handle *handle;
    int handles;
};

/* Refuses the trace by the problem of its current line. */
_Noreturn void trace_refuse(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for one more element of a list, which may move. */
void *trace_room(void *list, size_t count, size_t bytes);

int64_t trace_number(const struct reader *reader, int field, int64_t lowest, int64_t highest);
int trace_known_handle(const struct reader *reader, int field); /* one that is open */
int trace_new_handle(struct reader *reader, int field);         /* one that is not */
int trace_flag_names(const struct reader *reader, int field);   /* "O_WRONLY|O_CREAT" */

/* The index in the trace of the file that is named in a field. A file that is named for the first time is added; `size`
 * describes it. */
int trace_named_file(struct reader *reader, int field, const struct trace_file *size);

/* Parses a line `at ...` and adds the request to the trace (trace_requests.c). */
void trace_parse_request(struct reader *reader);
