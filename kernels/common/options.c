/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. getopt_long() does the work; this file adds types, ranges and messages that name the valid values. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "record.h"

enum { MESSAGE_LENGTH = 1024, MOST_NAMES = 64, OWN_OPTIONS = 2 /* --help, --version */ };
enum { MISSING_VALUE = ':', UNKNOWN_OPTION = '?' }; /* as getopt_long() returns them */

static char message[MESSAGE_LENGTH];

#define COMPLAIN(...) (snprintf(message, sizeof message, __VA_ARGS__), message)

static int count_rows(const struct option_row *rows)
{
    int count = 0;
    while (rows[count].name)
        count++;
    return count;
}

bool is_assignment(const char *text)
{
    return text[strcspn(text, "=/")] == '=';
}

int64_t parse_size(const char *text)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno)
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].suffix) == 0)
            return number > (INT64_MAX >> units[i].shift) ? -1 : (int64_t)number << units[i].shift;
    return -1;
}

static void format_size(char *text, size_t bytes, int64_t size)
{
    static const char *const suffixes[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && size > 0 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    snprintf(text, bytes, "%" PRId64 "%s", size, suffixes[unit]);
}

/* A name of an OPTION_LIST, NULL behind the last one. */
static const char *name_of(const struct option_row *row, int i)
{
    return *(const char *const *)(const void *)((const char *)row->names + (size_t)i * row->step);
}

static void list_names(char *text, size_t bytes, const struct option_row *row, uint64_t chosen)
{
    text[0] = '\0';
    for (int i = 0; name_of(row, i); i++) {
        if (!(chosen >> i & 1))
            continue;
        size_t length = strlen(text);
        snprintf(text + length, bytes - length, "%s%s", length ? "," : "", name_of(row, i));
    }
}

static const char *set_list(const struct option_row *row, const char *argument)
{
    uint64_t chosen = 0;
    char *copy = copy_text(argument), *rest = copy;
    for (char *name; (name = strsep(&rest, ","));) {
        int i = 0;
        while (name_of(row, i) && strcmp(name_of(row, i), name) != 0)
            i++;
        if (!name_of(row, i)) {
            char valid[512];
            list_names(valid, sizeof valid, row, UINT64_MAX);
            COMPLAIN("--%s: unknown name '%.80s'; valid are %s", row->name, name, valid);
            free(copy);
            return message;
        }
        chosen |= UINT64_C(1) << i;
    }
    free(copy);
    *row->list = chosen;
    return NULL;
}

/* A number with a unit, or "". */
static const char *set_number(const struct option_row *row, const char *argument, const char *what, const char *unit)
{
    char *end;
    errno = 0;
    const long long number = strtoll(argument, &end, 10);
    if (errno || end == argument || strcmp(end, unit) != 0 || number < row->lowest || number > row->highest)
        return COMPLAIN("--%s: '%.80s' is not a whole %s from %" PRId64 "%s to %" PRId64 "%s", row->name, argument,
                        what, row->lowest, unit, row->highest, unit);
    *row->number = number;
    return NULL;
}

static const char *set_value(const struct option_row *row, const char *argument)
{
    char *end;
    errno = 0;
    switch (row->kind) {
    case OPTION_FLAG:
        *row->flag = true;
        return NULL;
    case OPTION_TEXT:
    case OPTION_INPUT:
        if (!*argument)
            return COMPLAIN("--%s: the value is empty; it must be a %s", row->name, row->placeholder);
        *row->text = argument;
        return NULL;
    case OPTION_LIST:
        return set_list(row, argument);
    case OPTION_COUNT:
        return set_number(row, argument, "number", "");
    case OPTION_PERCENT:
        return set_number(row, argument, "percentage", "%");
    case OPTION_SIZE: {
        int64_t size = parse_size(argument);
        if (size < row->lowest || size > row->highest) {
            char lowest[32], highest[32];
            format_size(lowest, sizeof lowest, row->lowest);
            format_size(highest, sizeof highest, row->highest);
            return COMPLAIN("--%s: '%.80s' is not a size from %s to %s (write 1048576, 1024KiB, 1MiB, 1GiB)", row->name,
                            argument, lowest, highest);
        }
        *row->number = size;
        return NULL;
    }
    case OPTION_SECONDS: {
        double seconds = strtod(argument, &end);
        if (errno || end == argument || *end || !isfinite(seconds) || seconds < (double)row->lowest ||
            seconds > (double)row->highest)
            return COMPLAIN("--%s: '%.80s' is not a number of seconds from %" PRId64 " to %" PRId64, row->name,
                            argument, row->lowest, row->highest);
        *row->seconds = seconds;
        return NULL;
    }
    }
    return NULL;
}

static bool is_set(const struct option_row *row)
{
    switch (row->kind) {
    case OPTION_TEXT:
    case OPTION_INPUT:
        return *row->text != NULL;
    case OPTION_SIZE:
    case OPTION_PERCENT:
        return *row->number != 0;
    case OPTION_LIST:
        return *row->list != 0;
    default:
        return true;
    }
}

static void print_default(const struct option_row *row)
{
    char text[512] = "";
    if (row->kind == OPTION_FLAG || !is_set(row))
        return;
    if (row->kind == OPTION_LIST)
        list_names(text, sizeof text, row, *row->list);
    else if (row->kind == OPTION_SECONDS)
        snprintf(text, sizeof text, "%g", *row->seconds);
    else if (row->kind == OPTION_SIZE)
        format_size(text, sizeof text, *row->number);
    else if (row->kind == OPTION_TEXT || row->kind == OPTION_INPUT)
        snprintf(text, sizeof text, "%s", *row->text);
    else
        snprintf(text, sizeof text, "%" PRId64 "%s", *row->number, row->kind == OPTION_PERCENT ? "%" : "");
    printf("        default: %s\n", text);
}

static void print_help(const struct program *program)
{
    printf("%s\n\n%s\n\n"
           "The log contains raw measurements; 'coffeecup score' and 'coffeecup report' compute the results from it.\n"
           "SIZE is a number of bytes, or a number with B, KiB, MiB, GiB or TiB.\n\nOptions:\n",
           program->summary, program->usage);
    for (const struct option_row *row = program->rows; row->name; row++) {
        printf("  --%s%s%s\n        %s\n", row->name, row->placeholder ? " " : "",
               row->placeholder ? row->placeholder : "", row->help);
        if (row->kind == OPTION_LIST) {
            char valid[512];
            list_names(valid, sizeof valid, row, UINT64_MAX);
            printf("        valid: %s\n", valid);
        }
        print_default(row);
    }
    printf("  --help\n        print this text\n  --version\n        print the version\n");
    printf("\nExit status: 0 the log is complete, 1 the run failed, 2 the request is invalid.\n");
}

static const char *name_valid_options(const struct program *program, const char *wrong)
{
    size_t length = (size_t)snprintf(message, sizeof message, "unknown option '%.80s'; valid are", wrong);
    for (const struct option_row *row = program->rows; row->name && length < sizeof message; row++)
        length += (size_t)snprintf(message + length, sizeof message - length, " --%s", row->name);
    return message;
}

/* The table for getopt_long(), to be freed. */
static struct option *long_options(const struct program *program, int count)
{
    struct option *table = allocate((size_t)count + OWN_OPTIONS + 1, sizeof *table);
    for (int i = 0; i < count; i++)
        table[i] = (struct option){program->rows[i].name,
                                   program->rows[i].placeholder ? required_argument : no_argument, NULL, 0};
    table[count] = (struct option){"help", no_argument, NULL, 0};
    table[count + 1] = (struct option){"version", no_argument, NULL, 0};
    return table;
}

static const char *parse_words(const struct program *program, const struct option *table, int count, int argc,
                               char **argv)
{
    opterr = 0;
    optind = 1;
    /* "+": words keep their order, so that getopt_long()'s errors refer to the one at `next` */
    for (int next = optind, row, result; (result = getopt_long(argc, argv, "+:", table, &row)) != -1; next = optind) {
        const char *word = argv[next];
        if (result == MISSING_VALUE)
            return COMPLAIN("option '%.80s' requires a value", word);
        if (result == UNKNOWN_OPTION)
            return name_valid_options(program, word);
        if (optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
            return COMPLAIN("option '%.80s' requires a value, but the option '%.80s' follows", word, optarg);
        if (row == count) {
            print_help(program);
            exit(0);
        }
        if (row == count + 1) {
            printf("%s %s\n", program->name, COFFEECUP_VERSION);
            exit(0);
        }
        const char *complaint = set_value(&program->rows[row], optarg);
        if (complaint)
            return complaint;
    }
    if (optind < argc)
        return COMPLAIN("'%.80s' is not an option; options start with --, see --help", argv[optind]);
    return NULL;
}

/* An OPTION_LIST has a bit for each name. */
static const char *too_many_names(const struct option_row *rows)
{
    for (; rows->name; rows++)
        for (int i = 0; rows->kind == OPTION_LIST && name_of(rows, i); i++)
            if (i == MOST_NAMES)
                return COMPLAIN("--%s: its table has more than %d names", rows->name, MOST_NAMES);
    return NULL;
}

const char *options_parse(const struct program *program, int argc, char **argv)
{
    if (too_many_names(program->rows))
        return message;
    const int count = count_rows(program->rows);
    struct option *table = long_options(program, count);
    const char *complaint = parse_words(program, table, count, argc, argv);
    free(table);
    return complaint;
}

static json_t *list_json(const struct option_row *row)
{
    json_t *list = json_array();
    for (int i = 0; name_of(row, i); i++)
        if (*row->list >> i & 1)
            json_array_append_new(list, json_string(name_of(row, i)));
    return list;
}

static json_t *value_json(const struct option_row *row)
{
    if (!is_set(row))
        return json_null();
    if (row->kind == OPTION_FLAG)
        return json_boolean(*row->flag);
    if (row->kind == OPTION_SECONDS)
        return json_real(*row->seconds);
    if (row->kind == OPTION_LIST)
        return list_json(row);
    if (row->kind != OPTION_TEXT && row->kind != OPTION_INPUT)
        return json_integer(*row->number);
    return text_json(*row->text);
}

json_t *options_json(const struct option_row *rows)
{
    json_t *options = json_object();
    for (const struct option_row *row = rows; row->name; row++)
        json_object_set_new(options, row->name, value_json(row));
    return options;
}
