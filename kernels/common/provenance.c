/* SPDX-License-Identifier: Apache-2.0 */
/* See provenance.h. A list of files is a text like the output of sha256sum: "HASH  PATH" lines, the program first. */
#include "provenance.h"

#include <limits.h>
#include <link.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "gather.h"
#include "machine.h"
#include "memory.h"
#include "record.h"
#include "sha256.h"

/* --- who started the run, in which job ---------------------------------------------------------------------------- */

static json_t *user_json(void)
{
    char number[24];
    const struct passwd *user = getpwuid(getuid());
    snprintf(number, sizeof number, "%ld", (long)getuid());
    return text_json(user ? user->pw_name : number);
}

/* The hosts of a file with one name per line and process, each once, separated by commas. */
static json_t *hosts_of_file(const char *path)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[MPI_MAX_PROCESSOR_NAME], *hosts = NULL;
    size_t bytes;
    if (!file)
        return json_null();
    FILE *text = open_memstream(&hosts, &bytes);
    for (char last[sizeof line] = ""; text && fgets(line, sizeof line, file);) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (strcmp(line, last) != 0)
            fprintf(text, "%s%s", *last ? "," : "", line);
        memcpy(last, line, sizeof last);
    }
    fclose(file);
    if (!text || fclose(text) != 0)
        return json_null();
    json_t *value = text_or_null(hosts);
    free(hosts);
    return value;
}

static json_t *job_json(void)
{
    static const struct {
        const char *scheduler, *id, *nodes, *node_file;
    } known[] = {{"slurm", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", NULL},
                 {"pbs", "PBS_JOBID", NULL, "PBS_NODEFILE"},
                 {"flux", "FLUX_JOB_ID", "FLUX_JOB_NODELIST", NULL},
                 {"lsf", "LSB_JOBID", "LSB_HOSTS", NULL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *id = getenv(known[i].id);
        if (id && *id)
            return OBJECT(field_text("scheduler", known[i].scheduler), field_text("id", id),
                          field_json("nodes", known[i].nodes ? text_or_null(getenv(known[i].nodes))
                                                             : hosts_of_file(getenv(known[i].node_file))));
    }
    return json_null();
}

/* --- preloaded libraries ------------------------------------------------------------------------------------------ */

#pragma weak _DYNAMIC /* a program that is linked statically has none */

/* Whether the program itself names a library with this file name. */
static bool is_needed(const char *path)
{
    const char *names = NULL, *slash = strrchr(path, '/');
    if (!_DYNAMIC)
        return false;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            names = (const char *)entry->d_un.d_ptr;
    for (const ElfW(Dyn) *entry = _DYNAMIC; names && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag != DT_NEEDED)
            continue;
        const char *needed = names + entry->d_un.d_val, *end = strrchr(needed, '/');
        if (strcmp(end ? end + 1 : needed, slash ? slash + 1 : path) == 0)
            return true;
    }
    return false;
}

/* The loader puts preloaded libraries between the program and the first library that the program needs, whether
 * LD_PRELOAD, /etc/ld.so.preload or its own option --preload name them. */
static int add_preloaded(struct dl_phdr_info *info, size_t size, void *list)
{
    (void)size;
    if (!strchr(info->dlpi_name, '/')) /* the program itself, and the kernel's linux-vdso.so */
        return 0;
    if (is_needed(info->dlpi_name))
        return 1;
    json_array_append_new(list, text_json(info->dlpi_name));
    return 0;
}

static json_t *preloaded_json(void)
{
    if (COFFEECUP_SIMULATED)
        return json_null();
    json_t *list = json_array();
    dl_iterate_phdr(add_preloaded, list);
    return list;
}

json_t *provenance_json(void)
{
    return OBJECT(field_json("nonce", text_or_null(getenv("COFFEECUP_ACCEPTANCE"))), field_json("user", user_json()),
                  field_json("job", job_json()), field_json("preloaded", preloaded_json()));
}

/* --- what ran ----------------------------------------------------------------------------------------------------- */

static void add_line(FILE *list, const char *path, const char *content)
{
    char hex[SHA256_HEX_BYTES];
    fprintf(list, "%s  %s\n", sha256_of_file(content, hex) ? hex : "", path);
}

/* A library is mapped in several parts, one after the other. Only executable files are of interest. */
static void add_libraries(FILE *list, const char *program)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char *line = NULL, *last = copy_text("");
    size_t room = 0;
    while (maps && getline(&line, &room, maps) > 0) {
        const char *permissions = strchr(line, ' ');
        char *path = strchr(line, '/');
        if (!permissions || strlen(permissions) < 5 || permissions[3] != 'x' || !path)
            continue;
        char *end = strchr(path, '\n');
        if (end)
            *end = '\0';
        if (strcmp(path, program) == 0 || strcmp(path, last) == 0)
            continue;
        add_line(list, path, path);
        free(last);
        last = copy_text(path);
    }
    free(last);
    free(line);
    if (maps)
        fclose(maps);
}

static char *list_of_files(void)
{
    char program[PATH_MAX], *text = NULL;
    size_t bytes;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    FILE *list = open_memstream(&text, &bytes);
    program[length > 0 ? length : 0] = '\0';
    if (!list)
        fail("cannot list the loaded libraries: out of memory; use fewer processes on the node");
    add_line(list, program, "/proc/self/exe");
    add_libraries(list, program);
    if (fclose(list) != 0)
        fail("cannot list the loaded libraries: out of memory; use fewer processes on the node");
    return text;
}

/* The first line of a list that the reference has not. */
static const char *first_other(const char *list, const char *reference)
{
    const size_t bytes = strlen(reference);
    for (const char *line = list, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        if (!memmem(reference, bytes, line, (size_t)(end + 1 - line)))
            return line;
    return NULL;
}

/* A node that has another file, from the line of this file. */
static json_t *other_json(const char *line)
{
    char host[MPI_MAX_PROCESSOR_NAME], path[PATH_MAX];
    const char *begin = strchr(line, ' ') + 2;
    host_name(host);
    snprintf(path, sizeof path, "%.*s", (int)strcspn(begin, "\n"), begin);
    return OBJECT(field_text("host", host), field_text("path", path));
}

/* Rank 0: the first different file of each node that has one. */
static json_t *compare_nodes(const char *list, int leader)
{
    const int rank = rank_in(MPI_COMM_WORLD);
    char *reference = text_of_rank_0(rank == 0 ? list : NULL);
    const char *other = leader == rank ? first_other(list, reference) : NULL;
    json_t *others = gather_json(other ? other_json(other) : NULL);
    free(reference);
    return others;
}

static json_t *file_json(const char *role, const char *path, size_t path_bytes, const char *hex)
{
    char *copy = copy_text(path);
    copy[path_bytes] = '\0';
    json_t *file = OBJECT(field_text("role", role), field_text("path", copy),
                          field_json("sha256", hex ? json_stringn(hex, SHA256_HEX_BYTES - 1) : json_null()));
    free(copy);
    return file;
}

static json_t *all_files_json(const char *list, const struct option_row *options)
{
    json_t *files = json_array();
    for (const char *line = list, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *path = strchr(line, ' ') + 2;
        json_array_append_new(files, file_json(line == list ? "program" : "library", path, (size_t)(end - path),
                                               *line == ' ' ? NULL : line));
    }
    for (const struct option_row *row = options; row->name; row++) {
        const char *path = row->kind == OPTION_INPUT ? *row->text : NULL;
        char hex[SHA256_HEX_BYTES];
        const bool is_hashed = path && sha256_of_file(path, hex);
        if (path && (is_hashed || !is_assignment(path)))
            json_array_append_new(files, file_json("input", path, strlen(path), is_hashed ? hex : NULL));
    }
    return files;
}

json_t *files_json(const struct option_row *options, int leader)
{
    if (COFFEECUP_SIMULATED)
        return NULL;
    const int rank = rank_in(MPI_COMM_WORLD);
    char *list = leader == rank ? list_of_files() : NULL;
    json_t *others = compare_nodes(list, leader), *fields = NULL;
    if (rank == 0)
        fields = OBJECT(field_json("files", all_files_json(list, options)), field_json("other_files", others));
    free(list);
    return fields;
}
