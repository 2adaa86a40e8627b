/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of a run: those of the kernel, and those that are loaded. */
#pragma once

#include <jansson.h>

#include "priomark_interface.h"
#include "sha256.h"

enum { MOST_INTERFACES = 16, MOST_HINTS = 16, HINT_NAME_BYTES = 32 };

struct loaded {
    const struct priomark_interface *interface;
    char path[PRIOMARK_PATH_BYTES]; /* of the shared object */
    char sha256[SHA256_HEX_BYTES];
};

struct hint {
    char name[HINT_NAME_BYTES];
    int64_t value;
};

struct interfaces {
    const char *directory; /* of shared objects, before that of those which are included; NULL: none */
    int hints;
    struct hint hint[MOST_HINTS];
    int count;
    struct loaded loaded[MOST_INTERFACES];
};

/* The interface of a method: one of the kernel, or a loaded one; NULL if there is none. */
const struct priomark_interface *interface_find(const struct interfaces *interfaces, const char *name);

/* Whether the name could be that of a loaded interface. */
bool interface_is_name(const char *name);

/* Whether the directory of --interfaces has a shared object of this name on the first process. Collective. */
bool interface_is_in_directory(const struct interfaces *interfaces, const char *name);

/* Whether a shared object of this name belongs to the program on the first process. Collective. */
bool interface_is_included(const char *name);

/* Appends ", NAME" for each shared object that belongs to the program. */
void interface_list_included(char *list, size_t bytes);

/* Reads hints, "NAME=SIZE,...", of loaded interfaces. Returns NULL, or the problem in static storage. */
const char *interface_hints(struct interfaces *interfaces, const char *text);

/* The value of a hint, as priomark_hint(). */
int64_t interface_hint(const struct interfaces *interfaces, const char *name);

/* Those that are loaded, for the plan in the log. */
json_t *interfaces_json(const struct interfaces *interfaces);

/* Loads priomark_NAME.so, the same file on all processes, from the directory or from that of included interfaces, until
 * the end of the process. If that fails, NULL, and a sentence in `reason`, the same on all processes. Collective. */
const struct priomark_interface *interface_load(struct interfaces *interfaces, const char *name, char *reason,
                                                size_t reason_bytes);
