/* SPDX-License-Identifier: Apache-2.0 */
/* See interfaces.h: those that are loaded. b_eff_io has this file as well. */
#include "interfaces.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "fail.h"
#include "input_file.h"
#include "options.h"
#include "record.h"

bool interface_is_name(const char *name)
{
    return *name && strlen(name) < 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* The problem of a table, or NULL. */
static const char *fault_of(const struct priomark_interface *interface, const char *name)
{
    static char fault[128];
    if (interface->version != PRIOMARK_INTERFACE) {
        snprintf(fault, sizeof fault,
                 "it was built for version %d of priomark_interface.h, this program has %d; rebuild it",
                 interface->version, PRIOMARK_INTERFACE);
        return fault;
    }
    if (!interface->name || strcmp(interface->name, name) != 0)
        return "its table has another name";
    if (!interface->summary || !interface->open || !interface->read || !interface->write || !interface->sync ||
        !interface->close)
        return "its table lacks a summary, open, read, write, sync or close";
    if (!interface->start != !interface->done || !interface->start != !interface->finish)
        return "its table has only some of start, done and finish";
    if (interface->stage && interface->start)
        return "its table has stage and start, of which it can have only one";
    if ((unsigned)interface->figure > PRIOMARK_LATENCY)
        return "its table has an unknown figure";
    return NULL;
}

static bool has_hint(const struct interfaces *interfaces, const char *name)
{
    for (int i = 0; i < interfaces->count; i++)
        for (const char *const *hint = interfaces->loaded[i].interface->hints; hint && *hint; hint++)
            if (strcmp(*hint, name) == 0)
                return true;
    return false;
}

static const struct hint *given(const struct interfaces *interfaces, const char *name)
{
    for (int i = 0; i < interfaces->hints; i++)
        if (strcmp(interfaces->hint[i].name, name) == 0)
            return &interfaces->hint[i];
    return NULL;
}

int64_t interface_hint(const struct interfaces *interfaces, const char *name)
{
    const struct hint *hint = given(interfaces, name);
    return hint ? hint->value : 0;
}

const char *interface_hints(struct interfaces *interfaces, const char *text)
{
    static char problem[256];
    for (const char *at = text; *at; at += strspn(at, ", ")) {
        struct hint *hint = &interfaces->hint[interfaces->hints];
        char size[32] = "";
        int used = 0;
        if (interfaces->hints == MOST_HINTS)
            return "hints: there are too many of them";
        if (sscanf(at, "%31[a-z0-9_]=%31[0-9A-Za-z]%n", hint->name, size, &used) != 2 ||
            (hint->value = parse_size(size)) < 0) {
            snprintf(problem, sizeof problem, "hints: '%.80s' does not begin with NAME=SIZE, such as \"chunk=1MiB\"",
                     at);
            return problem;
        }
        if (given(interfaces, hint->name)) {
            snprintf(problem, sizeof problem, "hints: '%.40s' is given twice; remove one of them", hint->name);
            return problem;
        }
        if (!has_hint(interfaces, hint->name)) {
            snprintf(problem, sizeof problem,
                     "hints: no loaded interface has the hint '%.40s'; remove it, or add its method", hint->name);
            return problem;
        }
        interfaces->hints++;
        at += used;
    }
    return NULL;
}

static const char *const places[] = {"interfaces", "../priomark/interfaces", "../lib/priomark", NULL};
static const char beginning[] = "priomark_", ending[] = ".so"; /* of names of shared objects */

/* The path of a shared object, in the directory if it is there or not included. */
static void find(const char *directory, const char *name, char path[PATH_MAX])
{
    char file[64];
    snprintf(file, sizeof file, "%s%.31s%s", beginning, name, ending);
    snprintf(path, PATH_MAX, "%s/%s", directory ? directory : ".", file);
    if (!directory || access(path, F_OK) != 0)
        input_find_included(places, file, path);
}

bool interface_is_in_directory(const struct interfaces *interfaces, const char *name)
{
    char path[PATH_MAX] = "";
    if (interfaces->directory)
        snprintf(path, sizeof path, "%s/%s%.31s%s", interfaces->directory, beginning, name, ending);
    int is_there = path[0] && access(path, F_OK) == 0;
    MPI_CHECK(MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return is_there;
}

bool interface_is_included(const char *name)
{
    char path[PATH_MAX];
    find(NULL, name, path);
    int is_included = path[0] == '/';
    MPI_CHECK(MPI_Bcast(&is_included, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return is_included;
}

void interface_list_included(char *list, size_t bytes)
{
    char pattern[PATH_MAX + 16];
    glob_t found = {0};
    if (!input_find_included(places, "", pattern))
        return;
    snprintf(pattern + strlen(pattern), 16, "%s*%s", beginning, ending);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0, length = strlen(list); i < found.gl_pathc && length < bytes; i++) {
            const char *name = strrchr(found.gl_pathv[i], '/') + strlen("/") + strlen(beginning);
            length +=
                (size_t)snprintf(list + length, bytes - length, ", %.*s", (int)(strlen(name) - strlen(ending)), name);
        }
    globfree(&found);
}

static void explain(const struct loaded *loaded, const char *fault, char *reason, size_t reason_bytes)
{
    if (fault)
        snprintf(reason, reason_bytes, "'%.300s' cannot be used: %.600s", loaded->path,
                 fault[0] ? fault : "its why_not() states no reason");
}

/* dlopen() of a truncated file ends the process by SIGBUS: the section headers, at its end, are then missing. */
static bool is_truncated(const char *path)
{
    ElfW(Ehdr) header;
    struct stat entry;
    FILE *file = fopen(path, "rb");
    const bool is_elf = file && fread(&header, sizeof header, 1, file) == 1 && fstat(fileno(file), &entry) == 0 &&
                        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    if (file)
        fclose(file);
    return is_elf && (uint64_t)entry.st_size < header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
}

static void load(struct loaded *loaded, const char *directory, const char *name, char *reason, size_t reason_bytes)
{
    char path[PATH_MAX];
    find(directory, name, path);
    char *absolute = realpath(path, NULL); /* dlopen() searches other directories for a name without a slash */
    const bool truncated = absolute && is_truncated(absolute);
    void *library = absolute && !truncated ? dlopen(absolute, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library || !sha256_of_file(absolute, loaded->sha256)) {
        snprintf(reason, reason_bytes, "cannot load '%.300s': %.600s", path,
                 !absolute   ? "no such file"
                 : truncated ? "the file is truncated; build or copy it again"
                             : dlerror());
        free(absolute);
        return;
    }
    snprintf(loaded->path, sizeof loaded->path, "%s", absolute);
    free(absolute);
    loaded->interface = dlsym(library, "priomark_interface");
    explain(loaded, loaded->interface ? fault_of(loaded->interface, name) : "it defines no priomark_interface", reason,
            reason_bytes);
}

const struct priomark_interface *interface_load(struct interfaces *interfaces, const char *name, char *reason,
                                                size_t reason_bytes)
{
    struct loaded *loaded = &interfaces->loaded[interfaces->count];
    char first[SHA256_HEX_BYTES];
    reason[0] = '\0';
    if (interfaces->count == MOST_INTERFACES)
        snprintf(reason, reason_bytes, "more than %d interfaces; use fewer of them", MOST_INTERFACES);
    else
        load(loaded, interfaces->directory, name, reason, reason_bytes);
    if (agree_on_reason(MPI_COMM_WORLD, reason, reason_bytes) != NO_RANK)
        return NULL;
    memcpy(first, loaded->sha256, sizeof first);
    MPI_CHECK(MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (memcmp(first, loaded->sha256, sizeof first) != 0)
        snprintf(reason, reason_bytes,
                 "'%.300s' is another file than on the first process; install one file on all nodes", loaded->path);
    if (agree_on_reason(MPI_COMM_WORLD, reason, reason_bytes) != NO_RANK)
        return NULL;
    if (loaded->interface->why_not)
        explain(loaded, loaded->interface->why_not(), reason, reason_bytes);
    if (agree_on_reason(MPI_COMM_WORLD, reason, reason_bytes) != NO_RANK)
        return NULL;
    interfaces->count++;
    return loaded->interface;
}

json_t *interfaces_json(const struct interfaces *interfaces)
{
    static const char *const figures[] = {
        [PRIOMARK_BANDWIDTH] = "bandwidth", [PRIOMARK_RATE] = "rate", [PRIOMARK_LATENCY] = "latency"};
    json_t *list = json_array();
    for (int i = 0; i < interfaces->count; i++) {
        const struct loaded *loaded = &interfaces->loaded[i];
        const struct priomark_interface *interface = loaded->interface;
        json_array_append_new(list,
                              OBJECT(field_text("name", interface->name), field_text("summary", interface->summary),
                                     field_text("path", loaded->path), field_text("sha256", loaded->sha256),
                                     field_text("figure", figures[interface->figure]),
                                     field_bool("collective", interface->collective),
                                     field_bool("plain", interface->plain), field_bool("objects", interface->objects),
                                     field_text("properties", interface->properties ? interface->properties() : NULL)));
    }
    return list;
}
