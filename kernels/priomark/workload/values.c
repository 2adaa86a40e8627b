/* SPDX-License-Identifier: Apache-2.0 */
/* See values.h. One function per kind of value; a list is read element by element. */
#include "values.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "interfaces.h"
#include "memory.h"
#include "options.h"

enum { MESSAGE_LENGTH = 1024 };

void refuse_line(const char *path, int line, const char *format, ...)
{
    char message[MESSAGE_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse("%s:%d: %s", path, line, message);
}

static int line_of(const config_setting_t *setting)
{
    return (int)config_setting_source_line(setting);
}

static const char *what_a_size_is = "a size is a text with B, KiB, MiB, GiB or TiB, such as \"16KiB\"";

/* --- one value ---------------------------------------------------------------------------------------------------- */

static int64_t read_size(const struct priomark_key *key, const config_setting_t *setting, const char *path)
{
    const char *text = config_setting_get_string(setting);
    if (!text)
        refuse_line(path, line_of(setting), "%s: %s", key->name, what_a_size_is);
    const int64_t size = parse_size(text);
    if (size < 0)
        refuse_line(path, line_of(setting), "%s: '%.80s' is not a size; %s", key->name, text, what_a_size_is);
    if (size < key->lowest || size > key->highest)
        refuse_line(path, line_of(setting), "%s: '%.80s' is not from %" PRId64 " to %" PRId64 " bytes", key->name, text,
                    key->lowest, key->highest);
    return size;
}

static int64_t read_count(const struct priomark_key *key, const config_setting_t *setting, const char *path)
{
    const int type = config_setting_type(setting);
    const int64_t count = config_setting_get_int64(setting);
    if ((type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) || count < key->lowest || count > key->highest)
        refuse_line(path, line_of(setting), "%s must be a whole number from %" PRId64 " to %" PRId64, key->name,
                    key->lowest, key->highest);
    return count;
}

/* "1:2" means one read to two writes. */
static double read_ratio(const struct priomark_key *key, const config_setting_t *setting, const char *path)
{
    const char *text = config_setting_get_string(setting);
    unsigned reads = 0, writes = 0;
    int used = -1;
    if (text && strspn(text, "0123456789:") == strlen(text))
        sscanf(text, "%9u:%9u%n", &reads, &writes, &used);
    if (used < 0 || text[used] || reads + writes == 0)
        refuse_line(path, line_of(setting),
                    "%s must be a text, reads to writes, such as \"1:2\"; one may be 0, both have at most 9 digits",
                    key->name);
    return (double)reads / ((double)reads + writes);
}

static void list_names(const char *const *names, char *list, size_t bytes)
{
    size_t length = 0;
    list[0] = '\0';
    for (; *names && length < bytes; names++)
        length += (size_t)snprintf(list + length, bytes - length, "%s%s", length ? ", " : "", *names);
}

void refuse_unknown_name(const struct priomark_key *key, const char *path, int line, const char *name)
{
    char valid[384];
    list_names(key->names, valid, sizeof valid);
    if (key->kind == PRIOMARK_METHODS)
        interface_list_included(valid, sizeof valid);
    refuse_line(path, line, "%s: %s%.80s%s; valid in this build are %s%s, in quotes", key->name, name ? "'" : "",
                name ? name : "not a text", name ? "' is not known" : "", valid,
                key->kind == PRIOMARK_METHODS ? ", or interfaces in the directory of --interfaces" : "");
}

/* Interfaces are loaded when the whole group has been read. */
static void read_name(const struct priomark_key *key, const config_setting_t *setting, const char *path)
{
    const char *text = config_setting_get_string(setting);
    for (const char *const *name = key->names; text && *name; name++)
        if (strcmp(*name, text) == 0)
            return;
    if (!text || key->kind == PRIOMARK_NAMES || !interface_is_name(text))
        refuse_unknown_name(key, path, line_of(setting), text);
}

static void read_text(const struct priomark_key *key, const config_setting_t *setting, const char *path)
{
    const char *text = config_setting_get_string(setting);
    if (!text || !*text)
        refuse_line(path, line_of(setting), "%s must be a non-empty text in quotes", key->name);
}

static void read_one(const struct priomark_key *key, const config_setting_t *setting, struct values *values,
                     const char *path)
{
    const int i = values->count;
    if (i == MOST_VALUES)
        refuse_line(path, line_of(setting), "%s has more than %d values", key->name, MOST_VALUES);
    switch (key->kind) {
    case PRIOMARK_SIZES:
        values->number[i] = read_size(key, setting, path);
        break;
    case PRIOMARK_COUNTS:
        values->number[i] = read_count(key, setting, path);
        break;
    case PRIOMARK_RATIOS:
        values->share[i] = read_ratio(key, setting, path);
        break;
    case PRIOMARK_NAMES:
    case PRIOMARK_METHODS:
        read_name(key, setting, path);
        break;
    case PRIOMARK_TEXT:
        read_text(key, setting, path);
        break;
    case PRIOMARK_FLAG:
        if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
            refuse_line(path, line_of(setting), "%s must be true or false", key->name);
        values->number[i] = config_setting_get_bool(setting) != 0;
        break;
    }
    const char *text = config_setting_get_string(setting);
    if (text)
        values->text[i] = copy_text(text);
    for (int earlier = 0; earlier < i; earlier++)
        if (values->number[i] == values->number[earlier] && values->share[i] == values->share[earlier] &&
            ((key->kind != PRIOMARK_NAMES && key->kind != PRIOMARK_METHODS) ||
             (text && strcmp(text, values->text[earlier]) == 0)))
            refuse_line(path, line_of(setting), "%s has a value twice", key->name);
    values->count++;
}

/* --- lists and ranges --------------------------------------------------------------------------------------------- */

static int64_t range_size(const struct priomark_key *key, const config_setting_t *range, const char *name,
                          const char *path)
{
    const config_setting_t *member = config_setting_get_member((config_setting_t *)range, name);
    if (!member)
        refuse_line(path, line_of(range),
                    "%s: a range is { from = \"4KiB\"; to = \"1MiB\"; factor = 2; }, or with step = \"4KiB\" "
                    "for the factor",
                    key->name);
    return read_size(key, member, path);
}

static void check_members(const struct priomark_key *key, const config_setting_t *range, const char *path)
{
    for (int i = 0; i < config_setting_length(range); i++) {
        const config_setting_t *member = config_setting_get_elem(range, (unsigned)i);
        const char *name = config_setting_name(member);
        if (strcmp(name, "from") != 0 && strcmp(name, "to") != 0 && strcmp(name, "factor") != 0 &&
            strcmp(name, "step") != 0)
            refuse_line(path, line_of(member), "%s: a range has from, to, and factor or step, not '%.80s'", key->name,
                        name);
    }
}

static void read_range(const struct priomark_key *key, const config_setting_t *range, struct values *values,
                       const char *path)
{
    static const struct priomark_key factor_row = {.name = "factor", .lowest = 2, .highest = 1 << 20};
    const struct priomark_key step_row = {.name = "step", .lowest = 1, .highest = key->highest};
    const config_setting_t *factor_setting = config_setting_get_member((config_setting_t *)range, "factor");
    const config_setting_t *step_setting = config_setting_get_member((config_setting_t *)range, "step");
    check_members(key, range, path);
    const int64_t from = range_size(key, range, "from", path), to = range_size(key, range, "to", path);
    if (!factor_setting == !step_setting)
        refuse_line(path, line_of(range), "%s: a range has either a factor or a step", key->name);
    const int64_t factor = factor_setting ? read_count(&factor_row, factor_setting, path) : 1;
    const int64_t step = step_setting ? read_size(&step_row, step_setting, path) : 0;
    if (from > to)
        refuse_line(path, line_of(range), "%s: from (%" PRId64 " bytes) is larger than to (%" PRId64 " bytes)",
                    key->name, from, to);
    for (int64_t size = from;;) {
        if (values->count == MOST_VALUES)
            refuse_line(path, line_of(range), "%s: the range has more than %d sizes; choose a larger factor or step",
                        key->name, MOST_VALUES);
        values->number[values->count++] = size;
        if (size > (to - step) / factor) /* the next one is beyond the end, or not representable */
            return;
        size = size * factor + step;
    }
}

void values_read(const struct priomark_key *key, const config_setting_t *setting, struct values *values,
                 const char *path)
{
    values->line = line_of(setting);
    if (config_setting_is_group(setting) && key->kind == PRIOMARK_SIZES) {
        read_range(key, setting, values, path);
        return;
    }
    if (!config_setting_is_aggregate(setting)) {
        read_one(key, setting, values, path);
        return;
    }
    if (config_setting_is_group(setting) || key->kind == PRIOMARK_TEXT || key->kind == PRIOMARK_FLAG)
        refuse_line(path, values->line, "%s must be a single value", key->name);
    if (config_setting_length(setting) == 0)
        refuse_line(path, values->line, "%s must not be an empty list", key->name);
    for (int i = 0; i < config_setting_length(setting); i++)
        read_one(key, config_setting_get_elem(setting, (unsigned)i), values, path);
}

void values_standard(const struct priomark_key *key, struct values *values, const char *path)
{
    char text[512];
    config_t config;
    if (!key->standard)
        return;
    config_init(&config);
    snprintf(text, sizeof text, "standard = %s;", key->standard);
    if (!config_read_string(&config, text))
        refuse_line(path, 0, "%s: its default %.80s is invalid", key->name, key->standard);
    values_read(key, config_lookup(&config, "standard"), values, path);
    config_destroy(&config);
    values->line = 0;
}

void values_free(struct values *values)
{
    for (int i = 0; i < values->count; i++)
        free(values->text[i]);
    *values = (struct values){0};
}
