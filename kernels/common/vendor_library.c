/* SPDX-License-Identifier: Apache-2.0 */
/* See vendor_library.h. */
#include "vendor_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

enum { NAME_LENGTH = 128, MESSAGE_LENGTH = 512 };

static char message[MESSAGE_LENGTH];

/* First a library that the MPI library has already loaded: two versions in a process would have a context each. */
static void *load(struct vendor_library *library)
{
    static const int modes[] = {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW};
    for (int m = 0; m < 2; m++)
        for (const char *const *name = library->libraries; *name; name++) {
            void *loaded = dlopen(*name, modes[m]);
            if (loaded) {
                library->opened = *name;
                return loaded;
            }
        }
    return NULL;
}

const char *vendor_library_open(struct vendor_library *library)
{
    if (library->opened)
        return NULL;
    void *loaded = load(library);
    if (!loaded) {
        snprintf(message, sizeof message, "the runtime library %s is not on this node (or not in LD_LIBRARY_PATH): %s",
                 library->libraries[0], dlerror());
        return message;
    }
    for (int i = 0; library->names[i]; i++) {
        char name[NAME_LENGTH];
        snprintf(name, sizeof name, "%s%s", library->prefix, library->names[i]);
        library->calls[i] = dlsym(loaded, name);
        if (!library->calls[i]) {
            snprintf(message, sizeof message, "the runtime library %s has no function %s; install a newer version",
                     library->opened, name);
            return message;
        }
    }
    return NULL;
}
