/* SPDX-License-Identifier: Apache-2.0 */
/* The log's last record, for those who cannot use a JSON library: a signal handler, and the keeper of a run that is
 * gone. */
#ifndef COFFEECUP_END_RECORD_H
#define COFFEECUP_END_RECORD_H

#include <stddef.h>

enum { END_RECORD_BYTES = 8192 };

struct end {
    const char *status;
    const char *reason; /* without characters that JSON would have to escape; NULL where there is a note */
    const char *note;   /* see note.h */
    long sequence;      /* how many records the log has before this one */
    double elapsed_seconds;
};

/* Forms the record with its newline and returns its length. Safe in a signal handler. */
size_t end_record(char line[END_RECORD_BYTES], const struct end *end);

/* Copies a text without its terminator, and a number that is not negative; both return the place behind. Safe in a
 * handler, where snprintf() is not. */
char *put_text(char *at, const char *text);
char *put_number(char *at, long number);

#endif
