/* SPDX-License-Identifier: Apache-2.0 */
/* See interfaces.h: those of the kernel. */
#include "interfaces.h"

#include <string.h>

#include "storage.h"

static const struct priomark_interface *const built_in[] = {
#if HAVE_MPI_IO
    &individual_interface,
    &individual_collective_interface,
    &explicit_interface,
    &explicit_collective_interface,
#endif
#if HAVE_LIBURING
    &uring_interface,
#endif
    &posix_interface,
    &posix_direct_interface,
    &device_interface,
    &aio_interface,
    NULL};

const struct priomark_interface *interface_find(const struct interfaces *interfaces, const char *name)
{
    for (const struct priomark_interface *const *interface = built_in; *interface; interface++)
        if (strcmp((*interface)->name, name) == 0)
            return *interface;
    for (int i = 0; i < interfaces->count; i++)
        if (strcmp(interfaces->loaded[i].interface->name, name) == 0)
            return interfaces->loaded[i].interface;
    return NULL;
}
