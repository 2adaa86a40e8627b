/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-benchmarks: those of this build, and those that are loaded as plug-ins. */
#ifndef PRIOMARK_PLUGINS_H
#define PRIOMARK_PLUGINS_H

#include "priomark.h"

/* One per file; plugins.c selects those of a build. */
extern const struct priomark_plugin common_file_plugin, strided_plugin, async_plugin, single_file_plugin, raw_plugin,
    trace_plugin;

extern const struct priomark_plugin *const built_in_plugins[]; /* NULL-terminated */

/* Why this build does not have a sub-benchmark that other builds have; NULL if there is no reason. */
const char *why_not_offered(const char *name);

/* A list of the names, for messages. */
const char *built_in_names(void);

/* Loads DIRECTORY/priomark_NAME.so until the end of the process. Returns NULL with a sentence in `reason` if that
 * fails. */
const struct priomark_plugin *plugin_load(const char *directory, const char *name, char *path, size_t path_bytes,
                                          char *reason, size_t reason_bytes);

/* The problem of a plug-in's table of keys, or NULL. */
const char *plugin_fault(const struct priomark_plugin *plugin);

#endif
