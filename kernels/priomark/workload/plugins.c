/* SPDX-License-Identifier: Apache-2.0 */
/* See plugins.h. */
#include "plugins.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct priomark_plugin *const built_in_plugins[] = {
#if HAVE_MPI
    &common_file_plugin,
#endif
#if HAVE_MPI_IO
    &strided_plugin,
#endif
    &async_plugin,       &single_file_plugin, &raw_plugin, &trace_plugin, NULL};

const char *why_not_offered(const char *name)
{
    if (!HAVE_MPI && strcmp(name, "common_file") == 0)
        return "requires a build with MPI";
    if (!HAVE_MPI_IO && strcmp(name, "strided") == 0)
        return "requires a build with MPI-IO";
    return NULL;
}

const char *built_in_names(void)
{
    static char names[256];
    size_t length = 0;
    for (const struct priomark_plugin *const *plugin = built_in_plugins; *plugin && length < sizeof names; plugin++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", (*plugin)->name);
    return names;
}

const char *plugin_fault(const struct priomark_plugin *plugin)
{
    static char fault[256];
    if (plugin->interface != PRIOMARK_INTERFACE) {
        snprintf(fault, sizeof fault, "it was built for interface %d of priomark.h, this program has %d; rebuild it",
                 plugin->interface, PRIOMARK_INTERFACE);
        return fault;
    }
    if (!plugin->name || !plugin->summary || !plugin->keys || !plugin->plan || !plugin->measure)
        return "its table lacks a name, summary, keys, plan or measure";
    for (const struct priomark_key *key = plugin->keys; key->name; key++)
        if ((unsigned)key->kind > PRIOMARK_FLAG || (key->kind == PRIOMARK_NAMES && !key->names)) {
            snprintf(fault, sizeof fault, "its key %.80s has no kind, or no names", key->name);
            return fault;
        }
    return NULL;
}

const struct priomark_plugin *plugin_load(const char *directory, const char *name, char *path, size_t path_bytes,
                                          char *reason, size_t reason_bytes)
{
    snprintf(path, path_bytes, "%s/priomark_%s.so", directory, name);
    char *absolute = realpath(path, NULL); /* dlopen() searches other directories for a name without a slash */
    void *library = absolute ? dlopen(absolute, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        snprintf(reason, reason_bytes, "cannot load '%.300s': %.600s", path, absolute ? dlerror() : "no such file");
        free(absolute);
        return NULL;
    }
    snprintf(path, path_bytes, "%s", absolute);
    free(absolute);
    const struct priomark_plugin *plugin = dlsym(library, "priomark_plugin");
    const char *fault = plugin ? plugin_fault(plugin) : "it defines no priomark_plugin";
    if (!fault && strcmp(plugin->name, name) != 0)
        fault = "its table has another name";
    if (!fault)
        return plugin;
    snprintf(reason, reason_bytes, "'%.300s' is not a valid sub-benchmark '%s': %s", path, name, fault);
    return NULL;
}
