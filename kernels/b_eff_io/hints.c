/* SPDX-License-Identifier: Apache-2.0 */
/* See hints.h. */
#include "hints.h"

#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "gather.h"
#include "input_file.h"
#include "memory.h"
#include "methods.h"
#include "options.h"

enum { MOST_BYTES = 1 << 20, TEXT_LENGTH = 512 };

struct hints {
    config_t config;
    config_setting_t *groups;
};

static bool is_method(const char *name)
{
    int m = 0;
    while (m < METHODS && strcmp(methods[m].name, name) != 0)
        m++;
    return m < METHODS;
}

static bool is_type(const char *name)
{
    int t = 0;
    while (t < TYPES && strcmp(pattern_types[t].name, name) != 0)
        t++;
    return t < TYPES;
}

/* NULL if the group has no such value: then it applies everywhere. */
static const char *text_of(const config_setting_t *group, const char *name)
{
    const char *text = NULL;
    config_setting_lookup_string(group, name, &text);
    return text;
}

/* The type NULL is any. */
static bool has_chunk(const struct pattern patterns[PATTERNS], const char *type, int64_t chunk_bytes)
{
    int p = 0;
    while (p < PATTERNS && (patterns[p].chunk_bytes != chunk_bytes ||
                            (type && strcmp(pattern_types[patterns[p].type].name, type) != 0)))
        p++;
    return p < PATTERNS;
}

static void check_group(const char *path, config_setting_t *group, const struct pattern patterns[PATTERNS])
{
    const int line = (int)config_setting_source_line(group);
    config_setting_t *set = config_setting_is_group(group) ? config_setting_get_member(group, "set") : NULL;
    if (!set || !config_setting_is_group(set))
        refuse("%s:%d: each entry of 'hints' must be a group with set = { name = \"value\"; }", path, line);
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(member), *text = config_setting_get_string(member);
        const bool known = strcmp(name, "set") == 0 || (text && strcmp(name, "method") == 0 && is_method(text)) ||
                           (text && strcmp(name, "type") == 0 && is_type(text)) ||
                           (text && strcmp(name, "chunk") == 0 && parse_size(text) > 0);
        if (!known)
            refuse("%s:%d: invalid '%s'; an entry has set and, optionally and in quotes, method (write, rewrite, "
                   "read), type "
                   "(scatter, shared, separate, segmented, segmented-collective, random, random-collective) and chunk "
                   "(\"32KiB\")",
                   path, config_setting_source_line(member), name);
    }
    const char *type = text_of(group, "type"), *chunk = text_of(group, "chunk");
    if (chunk && !has_chunk(patterns, type, parse_size(chunk)))
        refuse("%s:%d: no pattern%s%s has the chunk \"%s\"; choose one of Table 2, in bytes if it has 8 more, such as "
               "\"32776\" for 32 KiB + 8",
               path, line, type ? " of type " : "", type ? type : "", chunk);
    for (int i = 0; i < config_setting_length(set); i++) {
        const config_setting_t *hint = config_setting_get_elem(set, (unsigned)i);
        const char *value = config_setting_get_string(hint);
        if (!value || !*value || strlen(value) > MPI_MAX_INFO_VAL ||
            strlen(config_setting_name(hint)) > MPI_MAX_INFO_KEY)
            refuse("%s:%d: the value of the hint '%s' must be a non-empty text in quotes", path,
                   config_setting_source_line(hint), config_setting_name(hint));
    }
}

/* As a file would state them: a=1,b=2 as hints = ( { set = { a = "1"; b = "2"; }; } ); */
static void write_out(const char *assignments, char *text)
{
    bool in_value = false;
    text = stpcpy(text, "hints = ( { set = { ");
    for (const char *next = assignments; *next; next++) {
        if (*next == '=' && !in_value) {
            text = stpcpy(text, " = \"");
            in_value = true;
        } else if (*next == ',') {
            text = stpcpy(text, "\"; ");
            in_value = false;
        } else {
            *text++ = *next;
        }
    }
    stpcpy(text, "\"; }; } );");
}

struct hints *hints_read(const char *path, const struct pattern patterns[PATTERNS])
{
    if (!path)
        return NULL;
    size_t bytes;
    char reason[TEXT_LENGTH] = "", *text = allocate(MOST_BYTES + 1, 1);
    const char *why = NULL;
    if (is_assignment(path))
        write_out(path, text);
    else if (rank_in(MPI_COMM_WORLD) == 0)
        why = input_read(path, MOST_BYTES, text, &bytes);
    if (why)
        snprintf(reason, TEXT_LENGTH, "cannot read the hints file '%s': %s", path, why);
    struct hints *hints = allocate(1, sizeof *hints);
    MPI_CHECK(MPI_Bcast(reason, TEXT_LENGTH, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        refuse("%s", reason);
    MPI_CHECK(MPI_Bcast(text, MOST_BYTES + 1, MPI_CHAR, 0, MPI_COMM_WORLD));
    config_init(&hints->config);
    const bool is_read = config_read_string(&hints->config, text);
    if (!is_read && is_assignment(path))
        refuse("'%s' are no hints: write NAME=VALUE,NAME=VALUE,..., or ./ before the path of a file", path);
    if (!is_read)
        refuse("%s:%d: %s", path, config_error_line(&hints->config), config_error_text(&hints->config));
    free(text);
    hints->groups = config_lookup(&hints->config, "hints");
    if (!hints->groups || !config_setting_is_list(hints->groups))
        refuse("%s: no list 'hints'; write hints = ( { set = { cb_nodes = \"2\"; }; } );", path);
    for (int i = 0; i < config_setting_length(hints->groups); i++)
        check_group(path, config_setting_get_elem(hints->groups, (unsigned)i), patterns);
    return hints;
}

void hints_free(struct hints *hints)
{
    if (hints)
        config_destroy(&hints->config);
    free(hints);
}

static bool applies(const config_setting_t *group, const char *method, const char *type, int64_t chunk_bytes)
{
    const char *of_method = text_of(group, "method"), *of_type = text_of(group, "type");
    const char *of_chunk = text_of(group, "chunk");
    return (!of_method || strcmp(of_method, method) == 0) && (!of_type || strcmp(of_type, type) == 0) &&
           (!of_chunk || parse_size(of_chunk) == chunk_bytes);
}

bool hints_name_chunk(const struct hints *hints, const char *method, const char *type, int64_t chunk_bytes)
{
    for (int i = 0; hints && i < config_setting_length(hints->groups); i++) {
        const config_setting_t *group = config_setting_get_elem(hints->groups, (unsigned)i);
        if (text_of(group, "chunk") && applies(group, method, type, chunk_bytes))
            return true;
    }
    return false;
}

MPI_Info hints_for(const struct hints *hints, const char *method, const char *type, int64_t chunk_bytes)
{
    MPI_Info info = MPI_INFO_NULL;
    for (int i = 0; hints && i < config_setting_length(hints->groups); i++) {
        config_setting_t *group = config_setting_get_elem(hints->groups, (unsigned)i);
        if (!applies(group, method, type, chunk_bytes))
            continue;
        const config_setting_t *set = config_setting_get_member(group, "set");
        if (info == MPI_INFO_NULL)
            MPI_CHECK(MPI_Info_create(&info));
        for (int k = 0; k < config_setting_length(set); k++) {
            const config_setting_t *hint = config_setting_get_elem(set, (unsigned)k);
            MPI_CHECK(MPI_Info_set(info, config_setting_name(hint), config_setting_get_string(hint)));
        }
    }
    return info;
}
