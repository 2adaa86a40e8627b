/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of memory in which buffers can be: that of the host and that of accelerators, by a table with one row each.
 * The runtime libraries of the vendors are loaded when a kind is opened, so that no vendor's software is required to
 * build the kernels, and one executable serves every node. Functions return NULL, or the reason why they failed, in
 * static storage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_HOST, MEMORY_CUDA, MEMORY_KINDS = 7, PCI_ADDRESS_LENGTH = 32, NO_NUMA_NODE = -1 };
struct memory_kind {
    const char *name;
    struct vendor *vendor; /* NULL: the host */
    bool managed;          /* the runtime moves it between the host and the device */
};
extern const struct memory_kind memory_kinds[MEMORY_KINDS + 1]; /* ended by a row without a name */

/* The accelerator of a process. */
struct memory_device {
    char pci_address[PCI_ADDRESS_LENGTH]; /* such as 0000:3b:00.0 */
    int numa_node;                        /* NO_NUMA_NODE if the system does not report it */
    int64_t bytes;                        /* of its memory */
};

/* Loads the runtime library and selects the device of this process, which has the number `place` among those of its
 * node: device `place` modulo the devices that the process may use. `library` becomes the name of the library. */
const char *memory_open(int kind, int place, struct memory_device *device, const char **library);

/* Memory of the selected device; host memory is written once, see buffer_allocate(). */
const char *memory_allocate(int kind, size_t bytes, char **memory);
void memory_free(int kind, char *memory, size_t bytes);

/* Between memory of this kind and that of the host, in either direction. What is copied from the device is in host
 * memory when the function returns. What is copied to it is there after memory_synchronize(). */
const char *memory_copy(int kind, char *to, const char *from, size_t bytes);

/* Waits until the device has done everything that this process started. */
const char *memory_synchronize(int kind);
