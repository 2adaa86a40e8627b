/* SPDX-License-Identifier: Apache-2.0 */
/* The log's last record, written without a JSON library: by a signal handler, and by the keeper of a run that has
 * ended. */
#pragma once

#include <stddef.h>

enum { END_RECORD_BYTES = 8192 };

struct end {
    const char *status;
    const char *reason; /* without characters that JSON must escape; NULL if there is a note */
    const char *note;   /* see note.h */
    long sequence;      /* how many records the log has before this one */
    double elapsed_seconds;
};

/* Forms the record with its newline and returns its length. Safe in a signal handler. */
size_t end_record(char line[END_RECORD_BYTES], const struct end *end);

/* Of a signal that interrupts a run. */
const char *signal_name(int number);

/* Append a text without its terminator, and a non-negative number; both return the end. Safe in a handler, unlike
 * snprintf(). */
char *put_text(char *at, const char *text);
char *put_number(char *at, long number);
