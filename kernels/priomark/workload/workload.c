/* SPDX-License-Identifier: Apache-2.0 */
/* See workload.h. All processes parse the same text, so that all of them refuse it in the same way. */
#include "workload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "fail.h"
#include "gather.h"
#include "input_file.h"
#include "memory.h"

enum { MOST_TEXT_BYTES = 60000, REASON_LENGTH = 1024, MOST_GROUPS = 64 };

static const struct priomark_key run_keys[] = {
    {"description", PRIOMARK_TEXT, "\"-\"", "description for people", 0, 0, NULL},
    {"seed", PRIOMARK_COUNTS, "1", "seed of the random orders", 0, INT64_MAX, NULL},
    {"repetitions", PRIOMARK_COUNTS, "1", "number of measurements of each case", 1, 100000, NULL},
    {"check", PRIOMARK_FLAG, "false", "check every byte", 0, 0, NULL},
    {"evict", PRIOMARK_FLAG, "true", "evict files from the page cache before they are accessed", 0, 0, NULL},
    {"hints", PRIOMARK_TEXT, NULL, "hints for loaded interfaces", 0, 0, NULL},
    {0}};
enum { DESCRIPTION, SEED, REPETITIONS, CHECK, EVICT, HINTS, RUN_KEYS };

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* A name without a slash or a dot is that of an included workload. */
static void find(const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"workloads", "../share/priomark/workloads", NULL};
    char file[PATH_MAX];
    snprintf(path, PATH_MAX, "%s", name);
    snprintf(file, sizeof file, "%.200s.cfg", name);
    if (!strpbrk(name, "/."))
        input_find_included(places, file, path);
}

static void read_text(const char *name, const char *path, char text[MOST_TEXT_BYTES + 1], char reason[REASON_LENGTH])
{
    size_t bytes;
    const char *why = input_read(path, MOST_TEXT_BYTES, text, &bytes);
    if (why)
        snprintf(reason, REASON_LENGTH,
                 "cannot read the workload '%.200s': %s; give a file (with a slash or an extension), or the name of an "
                 "included workload (default, figure_3, oltp, ...)",
                 name, why);
    else if (memchr(text, '\0', bytes))
        snprintf(reason, REASON_LENGTH, "the workload '%.200s' is not a text: it contains a zero byte", name);
}

static void fetch(struct workload *workload)
{
    char reason[REASON_LENGTH] = "";
    struct stat status;
    const char *directory = workload->interfaces.directory;
    workload->path = allocate(1, PATH_MAX);
    workload->text = allocate(1, MOST_TEXT_BYTES + 1);
    if (rank_in(MPI_COMM_WORLD) == 0) {
        find(workload->name, workload->path);
        read_text(workload->name, workload->path, workload->text, reason);
        if (directory && (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode)))
            snprintf(reason, sizeof reason, "--interfaces: '%.200s' is not a directory", directory);
    }
    if (agree_on_reason(MPI_COMM_WORLD, reason, sizeof reason) != NO_RANK)
        refuse("%s", reason);
    MPI_CHECK(MPI_Bcast(workload->path, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(workload->text, MOST_TEXT_BYTES + 1, MPI_CHAR, 0, MPI_COMM_WORLD));
}

/* The log contains the workload's file, so included files would be missing. */
static void refuse_includes(const struct workload *workload)
{
    int line = 1;
    for (const char *at = workload->text; at; line++) {
        if (strncmp(at + strspn(at, " \t"), "@include", strlen("@include")) == 0)
            refuse_line(workload->path, line, "a workload cannot include other files; insert their text");
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
}

/* --- its groups --------------------------------------------------------------------------------------------------- */

static const struct sub_benchmark *find_benchmark(const struct workload *workload, const char *name, int line)
{
    const struct sub_benchmark *benchmark = find_sub_benchmark(name);
    if (!benchmark && why_not_offered(name))
        refuse_line(workload->path, line, "'%s' %s; remove it, or choose others with --only", name,
                    why_not_offered(name));
    if (!benchmark)
        refuse_line(workload->path, line,
                    "'%.80s' is neither a key (description, seed, repetitions, check, evict, hints) nor a "
                    "sub-benchmark of this "
                    "build (%s)",
                    name, sub_benchmark_names());
    return benchmark;
}

/* Loads the method, unless the sub-benchmark has it or it is loaded. Those of the kernel have no version. */
static void load_method(struct workload *workload, const struct group *group, const struct priomark_key *key,
                        const char *name, int line)
{
    char reason[REASON_LENGTH];
    for (const char *const *built_in = key->names; *built_in; built_in++)
        if (strcmp(*built_in, name) == 0) {
            if (interface_is_in_directory(&workload->interfaces, name))
                refuse_line(workload->path, line,
                            "%s: %s is a method of the kernel; give the interface in the directory of --interfaces "
                            "another name",
                            key->name, name);
            return;
        }
    const struct priomark_interface *interface = interface_find(&workload->interfaces, name);
    if ((interface && !interface->version) ||
        (!interface && !workload->interfaces.directory && !interface_is_included(name)))
        refuse_unknown_name(key, workload->path, line, name);
    if (!interface)
        interface = interface_load(&workload->interfaces, name, reason, sizeof reason);
    if (!interface)
        refuse_line(workload->path, line, "%s: %s", key->name, reason);
    const char *why_no_method = group->benchmark->why_no_method ? group->benchmark->why_no_method(interface) : NULL;
    if (why_no_method)
        refuse_line(workload->path, line, "%s: %s is no method of %s: %s", key->name, name, group->benchmark->name,
                    why_no_method);
}

static const struct priomark_key *find_key(const struct priomark_key *keys, const char *name)
{
    for (const struct priomark_key *key = keys; key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

static _Noreturn void refuse_unknown_key(const struct workload *workload, const struct group *group,
                                         const config_setting_t *member)
{
    char valid[512];
    size_t length = 0;
    for (const struct priomark_key *key = group->benchmark->keys; key->name && length < sizeof valid; key++)
        length += (size_t)snprintf(valid + length, sizeof valid - length, "%s%s", length ? ", " : "", key->name);
    refuse_line(workload->path, (int)config_setting_source_line(member), "%s has no key '%.80s'; valid are %s",
                group->benchmark->name, config_setting_name(member), valid);
}

static void read_group(struct workload *workload, struct group *group, const config_setting_t *setting)
{
    int keys = 0;
    while (group->benchmark->keys[keys].name)
        keys++;
    group->values = allocate((size_t)keys + 1, sizeof *group->values);
    for (int i = 0; i < config_setting_length(setting); i++) {
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        const struct priomark_key *key = find_key(group->benchmark->keys, config_setting_name(member));
        if (!key)
            refuse_unknown_key(workload, group, member);
        values_read(key, member, &group->values[key - group->benchmark->keys], workload->path);
    }
    for (int k = 0; k < keys; k++) {
        const struct priomark_key *key = &group->benchmark->keys[k];
        struct values *values = &group->values[k];
        if (values->line == 0)
            values_standard(key, values, workload->path);
        if (values->count == 0 && !key->standard && key->kind != PRIOMARK_TEXT)
            refuse_line(workload->path, group->line, "%s requires the key '%s': %s", group->benchmark->name, key->name,
                        key->help);
        for (int i = 0; key->kind == PRIOMARK_METHODS && i < values->count; i++)
            load_method(workload, group, key, values->text[i], values->line);
    }
}

static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

static void read_run_key(struct workload *workload, const struct priomark_key *key, const config_setting_t *member,
                         struct values values[RUN_KEYS])
{
    values_read(key, member, &values[key - run_keys], workload->path);
    if (values[key - run_keys].count > 1)
        refuse_line(workload->path, values[key - run_keys].line, "%s must be a single value", key->name);
}

static void take_run_values(struct workload *workload, struct values values[RUN_KEYS])
{
    for (int k = 0; k < RUN_KEYS; k++)
        if (values[k].line == 0)
            values_standard(&run_keys[k], &values[k], workload->path);
    workload->seed = values[SEED].number[0];
    workload->repetitions = values[REPETITIONS].number[0];
    workload->check = values[CHECK].number[0];
    workload->evict = values[EVICT].number[0];
    const char *problem = values[HINTS].line ? interface_hints(&workload->interfaces, values[HINTS].text[0]) : NULL;
    if (problem)
        refuse_line(workload->path, values[HINTS].line, "%s", problem);
    for (int k = 0; k < RUN_KEYS; k++)
        values_free(&values[k]);
}

/* Sub-benchmarks of other builds: the workload runs with those of this build, and the score states which are missing.
 */
static void leave_out(const struct workload *workload, const char *name, int line)
{
    if (rank_in(MPI_COMM_WORLD) == 0)
        fprintf(stderr, "priomark: %s:%d: '%s' %s and is left out\n", workload->path, line, name,
                why_not_offered(name));
}

static void add_group(struct workload *workload, const char *name, const config_setting_t *setting)
{
    const int line = (int)config_setting_source_line(setting);
    if (workload->groups == MOST_GROUPS)
        refuse_line(workload->path, line, "more than %d groups", MOST_GROUPS);
    struct group *group = &workload->group[workload->groups++];
    group->line = line;
    group->benchmark = find_benchmark(workload, name, line);
    if (!config_setting_is_group(setting))
        refuse_line(workload->path, line,
                    "'%s' is a sub-benchmark and takes a group, %s = { ... };, or a list of groups, %s = ( { ... }, "
                    "{ ... } );",
                    name, name, name);
    read_group(workload, group, setting);
}

/* A list has a group for each set of cases that are not all combinations of the same values. */
static void read_groups(struct workload *workload, const char *name, const config_setting_t *setting)
{
    const bool is_list = config_setting_is_list(setting) && config_setting_length(setting) > 0;
    for (int i = 0; i < (is_list ? config_setting_length(setting) : 1); i++)
        add_group(workload, name, is_list ? config_setting_get_elem(setting, (unsigned)i) : setting);
}

static void read_root(struct workload *workload, const config_setting_t *root, const char *only)
{
    struct values values[RUN_KEYS] = {{0}};
    workload->group = allocate(MOST_GROUPS, sizeof *workload->group);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *member = config_setting_get_elem(root, (unsigned)i);
        const char *name = config_setting_name(member);
        const struct priomark_key *key = find_key(run_keys, name);
        const int line = (int)config_setting_source_line(member);
        if (key) {
            read_run_key(workload, key, member, values);
        } else if (!only && why_not_offered(name)) {
            leave_out(workload, name, line);
        } else if (!only || is_listed(only, name)) {
            read_groups(workload, name, member);
        }
    }
    take_run_values(workload, values);
}

bool begins_sub_benchmark(const struct workload *workload, int group)
{
    return group == 0 || workload->group[group].benchmark != workload->group[group - 1].benchmark;
}

static void refuse_missing(const struct workload *workload, const char *only)
{
    int selected = 0, names = 1;
    for (const char *at = only; at && *at; at++)
        names += *at == ',';
    for (int i = 0; i < workload->groups; i++)
        selected += begins_sub_benchmark(workload, i) && is_listed(only, workload->group[i].benchmark->name);
    if (selected != names)
        refuse("--only %.200s: the workload '%s' does not contain each of them; give names of its groups, separated by "
               "commas",
               only, workload->path);
}

struct workload workload_read(const char *name, const char *only, const char *interface_directory)
{
    struct workload workload = {.name = name, .interfaces.directory = interface_directory};
    config_t config;
    fetch(&workload);
    refuse_includes(&workload);
    config_init(&config);
    if (!config_read_string(&config, workload.text))
        refuse_line(workload.path, config_error_line(&config), "%s", config_error_text(&config));
    read_root(&workload, config_root_setting(&config), only);
    config_destroy(&config);
    if (only)
        refuse_missing(&workload, only);
    if (workload.groups == 0)
        refuse("%s: no sub-benchmark; write a group for each that is to be measured, of %s", workload.path,
               sub_benchmark_names());
    return workload;
}

void workload_free(struct workload *workload)
{
    for (int i = 0; i < workload->groups; i++) {
        const struct group *group = &workload->group[i];
        for (int k = 0; group->benchmark->keys[k].name; k++)
            values_free(&group->values[k]);
        free(group->values);
    }
    free(workload->group);
    free(workload->text);
    free(workload->path);
}
