/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-benchmarks: those of this build, and those that are loaded. */
#ifndef PRIOMARK_PLUGINS_H
#define PRIOMARK_PLUGINS_H

#include "priomark.h"

/* One per file; which of them a build has is said in plugins.c. */
extern const struct priomark_plugin common_file_plugin, strided_plugin, async_plugin, single_file_plugin, raw_plugin,
    trace_plugin;

extern const struct priomark_plugin *const built_in_plugins[]; /* NULL-terminated */

/* The name of a sub-benchmark that other builds have: NULL, or why this one has not. */
const char *why_not_offered(const char *name);

/* A list of the names, for messages. */
const char *built_in_names(void);

/* Loads DIRECTORY/priomark_NAME.so for the life of the process. Returns NULL with a sentence in `reason` if it cannot.
 */
const struct priomark_plugin *plugin_load(const char *directory, const char *name, char *path, size_t path_bytes,
                                          char *reason, size_t reason_bytes);

/* What is wrong with a plug-in's table of keys, or NULL. */
const char *plugin_fault(const struct priomark_plugin *plugin);

#endif
