/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of vendors of accelerators. They are loaded when they are used, so that no vendor's software is required to
 * build the kernels, and one executable serves every node. */
#pragma once

enum { MOST_VENDOR_LIBRARIES = 8 };

struct vendor_library {
    const char *prefix;                           /* of the names of its functions */
    const char *libraries[MOST_VENDOR_LIBRARIES]; /* names, ended by NULL; of versions with the same functions */
    const char *const *names;                     /* of the functions, without the prefix, ended by NULL */
    void **calls;                                 /* their addresses, in the same order */
    const char *opened;                           /* the library that was loaded; NULL: none yet */
};

#define CALL_NAME(name) #name, /* for a list of vendor_calls.h */

/* Loads the library and finds its functions, once. Returns NULL, or the reason why it failed, in static storage. */
const char *vendor_library_open(struct vendor_library *library);
