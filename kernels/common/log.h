/* SPDX-License-Identifier: Apache-2.0 */
/* The log: JSON Lines, one record a line, written by rank 0 and complete after every record (docs/log.md).
 * On the other ranks the log is NULL and every function here does nothing. */
#pragma once

#include "record.h"

enum { LOG_SCHEMA_VERSION = 2 };

struct log;

/* Creates the file; never overwrites one. Returns NULL with a sentence in `reason` if that fails. Rank 0 only. */
struct log *log_open(const char *path, char *reason, size_t reason_bytes);

/* Appends `{"record": kind, "sequence": n, ...fields}`. Takes ownership of `fields`, also where the log is NULL. A
 * full disk ends the run. */
void log_write(struct log *log, const char *kind, json_t *fields);

/* The same with real numbers of four significant digits: for long lists of times. */
void log_write_rounded(struct log *log, const char *kind, json_t *fields);

/* The open file, for the keeper. */
int log_file(const struct log *log);

/* Writes the `end` record and closes the file. `cause` contains its field `reason` and, if a single process failed,
 * `rank` and `host`; NULL: no reason, and the log's SHA-256 is printed on standard output. Takes ownership of `cause`.
 * False if the record could not be written. */
bool log_close(struct log *log, const char *status, json_t *cause);
