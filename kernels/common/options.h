/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options as a table: one row per option with its name, kind, variable and the sentence that `--help`
 * prints. The same table gives the `options` of the log, so that every option in effect is recorded. */
#ifndef COFFEECUP_OPTIONS_H
#define COFFEECUP_OPTIONS_H

#include <jansson.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* bool, no argument */
    OPTION_COUNT,   /* int64_t within [lowest, highest] */
    OPTION_SIZE,    /* int64_t bytes: "4096", "64KiB", "1MiB", "2GiB"; within [lowest, highest] */
    OPTION_PERCENT, /* int64_t whole percent: "80%"; within [lowest, highest] */
    OPTION_SECONDS, /* double within [lowest, highest] */
    OPTION_TEXT,    /* const char * */
    OPTION_INPUT,   /* as OPTION_TEXT, the path of a file that the run reads: the log states its SHA-256 */
    OPTION_LIST     /* uint64_t, one bit per name of `names`: a comma separated list; 0: not set */
};

struct option_row {
    const char *name;
    enum option_kind kind;
    void *value; /* holds the default; for OPTION_SIZE and OPTION_PERCENT 0 and for the two texts NULL mean "not set" */
    const char *placeholder;
    const char *help;
    int64_t lowest, highest;
    /* OPTION_LIST: an array that ends with NULL, or the name in the first row of a table that ends with a row without a
     * name. `lowest` is the size of such a row. */
    const char *const *names;
};

/* Options of several kernels. */
#define OPTION_LOG(path) \
    {"log", OPTION_TEXT, path, "FILE", "log of the measurements; an existing file is never overwritten", 0, 0, NULL}
#define OPTION_DIRECTORY(path)                                                                                      \
    {"directory",                                                                                                   \
     OPTION_TEXT,                                                                                                   \
     path,                                                                                                          \
     "DIR",                                                                                                         \
     "directory on the file system under test; the run creates its own directory in it, and removes it at the end", \
     0,                                                                                                             \
     0,                                                                                                             \
     NULL}
#define OPTION_KEEP(flag) {"keep", OPTION_FLAG, flag, NULL, "do not remove the files of the run", 0, 0, NULL}

#define OPTION_IDLE_POWER(seconds)                                                                                 \
    {"idle-power",                                                                                                 \
     OPTION_SECONDS,                                                                                               \
     seconds,                                                                                                      \
     "SECONDS",                                                                                                    \
     "time for which all processes sleep before the run, to measure the idle power of the nodes; 0: not measured", \
     0,                                                                                                            \
     3600,                                                                                                         \
     NULL}

#define OPTION_READ_SHIFT(flag)                                                                                      \
    {"read-shift",                                                                                                   \
     OPTION_FLAG,                                                                                                    \
     flag,                                                                                                           \
     NULL,                                                                                                           \
     "what is read was written by another process: one of another node or, if the run has one node, the next one;\n" \
     "        the result is marked",                                                                                 \
     0,                                                                                                              \
     0,                                                                                                              \
     NULL}
#define OPTION_FILL_MEMORY(percent, when)                                                                      \
    {"fill-memory",                                                                                            \
     OPTION_PERCENT,                                                                                           \
     percent,                                                                                                  \
     "SHARE",                                                                                                  \
     "share of each node's memory, such as 80%, that its processes allocate and use " when ", so that there\n" \
     "        is less room for the page cache; the result is marked",                                          \
     1,                                                                                                        \
     95,                                                                                                       \
     NULL}

struct program {
    const char *name;
    const char *summary;           /* what it measures: first paragraph of --help */
    const char *usage;             /* usage, an example, and what is specific to the program */
    const struct option_row *rows; /* ended by a row without a name */
};

/* Parses before MPI is initialised, so that --help and --version (which end the program) require no launcher. Returns
 * NULL, or a sentence in static storage that states the problem and valid values; pass it to refuse() after MPI_Init.
 */
const char *options_parse(const struct program *program, int argc, char **argv);

/* The options in effect, for the log: sizes in bytes, times in seconds, shares in percent, lists as arrays, unset as
 * null. */
json_t *options_json(const struct option_row *rows);

/* Parses "64KiB" and the like to bytes; -1 if it is not a size. */
int64_t parse_size(const char *text);

#endif
