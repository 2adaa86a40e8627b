/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options as a table: one row per option says its name, its kind, where its value goes and the sentence
 * that `--help` prints. The same table writes the `options` of the log, so that nothing in effect goes unrecorded. */
#ifndef COFFEECUP_OPTIONS_H
#define COFFEECUP_OPTIONS_H

#include <jansson.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* bool, no argument */
    OPTION_COUNT,   /* int64_t within [lowest, highest] */
    OPTION_SIZE,    /* int64_t bytes: "4096", "64KiB", "1MiB", "2GiB"; within [lowest, highest] */
    OPTION_SECONDS, /* double within [lowest, highest] */
    OPTION_TEXT,    /* const char * */
    OPTION_LIST     /* uint64_t, one bit per name of `names`: a comma separated list */
};

struct option_row {
    const char *name;
    enum option_kind kind;
    void *value; /* holds the default; for OPTION_SIZE 0 and for OPTION_TEXT NULL mean "not set" */
    const char *placeholder;
    const char *help;
    int64_t lowest, highest;
    const char *const *names; /* OPTION_LIST: NULL-terminated */
};

struct program {
    const char *name;
    const char *summary;           /* what it measures: the first paragraph of --help */
    const char *usage;             /* an example line and what to do with the log */
    const struct option_row *rows; /* ended by a row without a name */
};

/* Parses before MPI is up, so that --help and --version (which end the program) need no launcher. Returns NULL, or a
 * sentence in static storage that says what is wrong and what is valid: refuse() with it once MPI is up. */
const char *options_parse(const struct program *program, int argc, char **argv);

/* The options in effect, for the log: sizes in bytes, times in seconds, lists as arrays, unset as null. */
json_t *options_json(const struct option_row *rows);

/* Parses "64KiB" and the like to bytes; -1 if it is not a size. */
int64_t parse_size(const char *text);

#endif
