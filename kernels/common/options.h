/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options as a table: one row per option with its name, kind, variable and the sentence that `--help`
 * prints. The same table gives the `options` of the log, so that every option in effect is recorded. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* bool, no argument */
    OPTION_COUNT,   /* int64_t within [lowest, highest] */
    OPTION_SIZE,    /* int64_t bytes: "4096", "64KiB", "1MiB", "2GiB"; within [lowest, highest] */
    OPTION_PERCENT, /* int64_t whole percent: "80%"; within [lowest, highest] */
    OPTION_SECONDS, /* double within [lowest, highest] */
    OPTION_TEXT,    /* const char * */
    OPTION_INPUT,   /* as OPTION_TEXT, the path of a file that the run reads: the log states its SHA-256; or, where
                       is_assignment(), what such a file would contain */
    OPTION_LIST     /* uint64_t, one bit per name of `names`: a comma separated list; 0: not set */
};

struct option_row {
    const char *name;
    enum option_kind kind;
    union { /* the variable, which holds the default; of sizes and shares 0 and of texts NULL mean "not set" */
        bool *flag;
        int64_t *number;
        double *seconds;
        const char **text;
        uint64_t *list;
    };
    const char *placeholder;
    const char *help;
    int64_t lowest, highest;
    const char *const *names; /* of a list: the first one */
    size_t step;              /* bytes from one name to the next; the last one is NULL */
};

/* A row of each kind: the compiler checks the type of the variable. The names of a list are an array or, in
 * TABLE_OPTION, in the member `name` of a table's rows. */
#define FLAG_OPTION(name, variable, help) {name, OPTION_FLAG, {.flag = (variable)}, NULL, help, 0, 0, NULL, 0}
#define NUMBER_OPTION(name, kind, variable, placeholder, lowest, highest, help) \
    {name, kind, {.number = (variable)}, placeholder, help, lowest, highest, NULL, 0}
#define COUNT_OPTION(name, variable, placeholder, lowest, highest, help) \
    NUMBER_OPTION(name, OPTION_COUNT, variable, placeholder, lowest, highest, help)
#define SIZE_OPTION(name, variable, lowest, highest, help) \
    NUMBER_OPTION(name, OPTION_SIZE, variable, "SIZE", lowest, highest, help)
#define PERCENT_OPTION(name, variable, lowest, highest, help) \
    NUMBER_OPTION(name, OPTION_PERCENT, variable, "SHARE", lowest, highest, help)
#define SECONDS_OPTION(name, variable, lowest, highest, help) \
    {name, OPTION_SECONDS, {.seconds = (variable)}, "SECONDS", help, lowest, highest, NULL, 0}
#define TEXT_OPTION(name, variable, placeholder, help) \
    {name, OPTION_TEXT, {.text = (variable)}, placeholder, help, 0, 0, NULL, 0}
#define INPUT_OPTION(name, variable, placeholder, help) \
    {name, OPTION_INPUT, {.text = (variable)}, placeholder, help, 0, 0, NULL, 0}
#define LIST_OPTION(name, variable, names, help) \
    {name, OPTION_LIST, {.list = (variable)}, "LIST", help, 0, 0, names, sizeof(char *)}
#define TABLE_OPTION(option, variable, table, help) \
    {option, OPTION_LIST, {.list = (variable)}, "LIST", help, 0, 0, &(table)[0].name, sizeof(table)[0]}

/* Options of several kernels. */
#define OPTION_LOG(path) \
    TEXT_OPTION("log", path, "FILE", "log of the measurements; an existing file is never overwritten")
#define OPTION_DIRECTORY(path)    \
    TEXT_OPTION(                  \
        "directory", path, "DIR", \
        "directory on the file system under test; the run creates its own directory in it, and removes it at the end")
#define OPTION_KEEP(flag) FLAG_OPTION("keep", flag, "do not remove the files of the run")
#define OPTION_READ_SHIFT(flag)                                                                                      \
    FLAG_OPTION("read-shift", flag,                                                                                  \
                "what is read was written by another process: one of another node or, if the run has one node, the " \
                "next one;\n"                                                                                        \
                "        the result is marked")
#define OPTION_FILL_MEMORY(percent, when)                                                                \
    PERCENT_OPTION("fill-memory", percent, 1, 95,                                                        \
                   "share of each node's memory, such as 80%, that its processes allocate and use " when \
                   ", so that there\n"                                                                   \
                   "        is less room for the page cache; the result is marked")

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

/* Whether a text is NAME=VALUE and not a path: no '/' comes before its '='. */
bool is_assignment(const char *text);

/* Parses "64KiB" and the like to bytes; -1 if it is not a size. */
int64_t parse_size(const char *text);
