/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of a run: those of the kernel, and those that are loaded. */
#ifndef PRIOMARK_INTERFACES_H
#define PRIOMARK_INTERFACES_H

#include "priomark_interface.h"
#include "sha256.h"

enum { MOST_INTERFACES = 16 };

struct loaded {
    const struct priomark_interface *interface;
    char path[PRIOMARK_PATH_BYTES]; /* of the shared object */
    char sha256[SHA256_HEX_BYTES];
};

struct interfaces {
    const char *directory; /* of shared objects; NULL: none */
    int count;
    struct loaded loaded[MOST_INTERFACES];
};

/* The interface of a method: one of the kernel, or a loaded one; NULL if there is none. */
const struct priomark_interface *interface_find(const struct interfaces *interfaces, const char *name);

/* Whether the name could be that of a loaded interface. */
bool interface_is_name(const char *name);

/* Loads DIRECTORY/priomark_NAME.so until the end of the process, the same file on all processes. If that fails, NULL,
 * and a sentence in `reason`, the same on all processes. Collective. */
const struct priomark_interface *interface_load(struct interfaces *interfaces, const char *name, char *reason,
                                                size_t reason_bytes);

#endif
