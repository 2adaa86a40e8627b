/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a node, buffers whose pages exist before they are used in timed regions, and small allocations, which
 * never return NULL: without memory the run fails with a clear error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The smaller of the physical memory and the limit of the control group that this process is in (v1 or v2);
 * `source` becomes "physical" or "cgroup". 0 if the system does not report it. */
int64_t node_memory_bytes(const char **source);

/* Memory that is available to programs now, within the limits of their control group: free, or used only by the page
 * cache. 0 if the system does not report it, or reports more than the physical memory. */
int64_t available_memory_bytes(void);

/* False in a simulation, where all processes share the memory of one buffer and messages are not copied. */
extern const bool buffers_hold_data;

/* As calloc(), reallocarray() and strdup(); to be freed with free(). */
void *allocate(size_t count, size_t bytes);
void *reallocate(void *memory, size_t count, size_t bytes);
char *copy_text(const char *text);

/* Page-aligned and written once, because the first use of a page can cost ten times more than later ones. Fails with a
 * clear error. */
char *buffer_allocate(size_t bytes);
void buffer_free(char *buffer, size_t bytes);
