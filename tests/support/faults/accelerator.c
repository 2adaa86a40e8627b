/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime library of accelerators without one: the functions of CUDA, HIP and Level Zero that the kernels call, with
 * a layer over MPI (accelerator_mpi.c). Its "device memory" is inaccessible to the process except inside MPI calls, or
 * while operations of the process are on their way, and inside the copy functions below; any other access faults. To be
 * loaded before a kernel, under the vendor's library name. A copy to the device waits for the next synchronisation, as
 * one from pageable memory may.
 *
 * STANDIN_DEVICES       devices of each process (1); 0: none, and the vendor's error
 * CUDA_VISIBLE_DEVICES  the number of the only device that the process may use
 * STANDIN_BYTES         memory of each device (1 GiB)
 * STANDIN_FREE          beyond which allocations of a process fail (1 GiB)
 * STANDIN_SUPPORT       what the library's questions for support answer (1)
 * STANDIN_KINDS         value of mpi_memory_alloc_kinds (not stated)
 * STANDIN_FLIP          number of the receiving MPI call of rank 1 after which the first byte received is changed
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "accelerator.h"

enum { MOST_REGIONS = 64, PAGE = 4096, SUCCESS = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100 };

struct region {
    char *start;
    size_t bytes;
};
static struct region regions[MOST_REGIONS];
static int depth, device;
long standin_under_way;
static size_t used;

static struct write {
    char *to, *data;
    size_t bytes;
    struct write *next;
} *first_write, **last_write = &first_write;

long standin_setting(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

static void protect(int protection)
{
    for (int i = 0; i < MOST_REGIONS; i++)
        if (regions[i].start && mprotect(regions[i].start, regions[i].bytes, protection) != 0)
            abort();
}

void standin_enter(void)
{
    if (depth++ == 0 && standin_under_way == 0)
        protect(PROT_READ | PROT_WRITE);
}

void standin_leave(void)
{
    if (--depth == 0 && standin_under_way == 0)
        protect(PROT_NONE);
}

int standin_is_device(const char *address)
{
    for (int i = 0; i < MOST_REGIONS; i++)
        if (regions[i].start && address >= regions[i].start && address < regions[i].start + regions[i].bytes)
            return 1;
    return 0;
}

int standin_device(void)
{
    return device;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static int allocate(void **memory, size_t bytes)
{
    const size_t size = (bytes + PAGE - 1) / PAGE * PAGE;
    for (int i = 0; i < MOST_REGIONS; i++)
        if (!regions[i].start) {
            if (used + size > (size_t)standin_setting("STANDIN_FREE", 1L << 30))
                return OUT_OF_MEMORY;
            used += size;
            *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            regions[i] = (struct region){*memory, size};
            return SUCCESS;
        }
    return OUT_OF_MEMORY;
}

static int release(const void *memory)
{
    for (int i = 0; i < MOST_REGIONS; i++)
        if (regions[i].start == memory) {
            used -= regions[i].bytes;
            munmap(regions[i].start, regions[i].bytes);
            regions[i].start = NULL;
            return SUCCESS;
        }
    abort();
}

static int synchronize(void)
{
    standin_enter();
    while (first_write) {
        struct write *write = first_write;
        memcpy(write->to, write->data, write->bytes);
        first_write = write->next;
        free(write->data);
        free(write);
    }
    last_write = &first_write;
    standin_leave();
    return SUCCESS;
}

static int copy(void *to, const void *from, size_t bytes)
{
    if (standin_is_device(to) == standin_is_device(from))
        abort(); /* the kernels copy between the host and a device only */
    if (standin_is_device(to)) {
        struct write *write = malloc(sizeof *write);
        *write = (struct write){to, malloc(bytes), bytes, NULL};
        memcpy(write->data, from, bytes);
        *last_write = write;
        last_write = &write->next;
        return SUCCESS;
    }
    synchronize();
    standin_enter();
    memcpy(to, from, bytes);
    standin_leave();
    return SUCCESS;
}

static int count_devices(int *count)
{
    *count = getenv("CUDA_VISIBLE_DEVICES") ? 1 : (int)standin_setting("STANDIN_DEVICES", 1);
    return *count > 0 ? SUCCESS : NO_DEVICE;
}

/* --- CUDA and HIP ------------------------------------------------------------------------------------------------- */

static const char *error_text(int result)
{
    return result == NO_DEVICE ? "no CUDA-capable device is detected" : result ? "out of memory" : "no error";
}

#define RUNTIME(prefix)                                                            \
    int prefix##GetDeviceCount(int *count)                                         \
    {                                                                              \
        return count_devices(count);                                               \
    }                                                                              \
    int prefix##SetDevice(int number)                                              \
    {                                                                              \
        device = number;                                                           \
        return SUCCESS;                                                            \
    }                                                                              \
    int prefix##DeviceGetPCIBusId(char *address, int bytes, int number)            \
    {                                                                              \
        snprintf(address, (size_t)bytes, "0000:%02X:00.0",                         \
                 0x3b + number + (int)standin_setting("CUDA_VISIBLE_DEVICES", 0)); \
        return SUCCESS;                                                            \
    }                                                                              \
    int prefix##MemGetInfo(size_t *available, size_t *total)                       \
    {                                                                              \
        *total = (size_t)standin_setting("STANDIN_BYTES", 1L << 30);               \
        *available = *total - used;                                                \
        return SUCCESS;                                                            \
    }                                                                              \
    int prefix##Malloc(void **memory, size_t bytes)                                \
    {                                                                              \
        return allocate(memory, bytes);                                            \
    }                                                                              \
    int prefix##MallocManaged(void **memory, size_t bytes, unsigned flags)         \
    {                                                                              \
        return flags == 1 ? allocate(memory, bytes) : OUT_OF_MEMORY;               \
    }                                                                              \
    int prefix##Free(void *memory)                                                 \
    {                                                                              \
        return release(memory);                                                    \
    }                                                                              \
    int prefix##Memcpy(void *to, const void *from, size_t bytes, int direction)    \
    {                                                                              \
        return direction == 4 ? copy(to, from, bytes) : OUT_OF_MEMORY;             \
    }                                                                              \
    int prefix##DeviceSynchronize(void)                                            \
    {                                                                              \
        return synchronize();                                                      \
    }                                                                              \
    const char *prefix##GetErrorString(int result)                                 \
    {                                                                              \
        return error_text(result);                                                 \
    }
RUNTIME(cuda)
RUNTIME(hip)

/* --- Level Zero: handles are numbers ------------------------------------------------------------------------------ */

int zeInit(uint32_t flags)
{
    return flags == 1 ? SUCCESS : 1;
}

int zeDriverGet(uint32_t *count, void **drivers)
{
    *count = 1;
    drivers[0] = (void *)1;
    return SUCCESS;
}

int zeDeviceGet(void *driver, uint32_t *count, void **devices)
{
    const uint32_t found = (uint32_t)standin_setting("STANDIN_DEVICES", 1);
    if (driver != (void *)1)
        return 1;
    *count = found < *count ? found : *count;
    for (uint32_t i = 0; i < *count; i++)
        devices[i] = (void *)(uintptr_t)(100 + i);
    return SUCCESS;
}

int zeDevicePciGetPropertiesExt(void *number, char *properties)
{
    const uint32_t address[] = {0, 0x3b + (uint32_t)(uintptr_t)number - 100, 0, 0};
    memcpy(properties + 16, address, sizeof address);
    return SUCCESS;
}

int zeDeviceGetMemoryProperties(void *number, uint32_t *count, char *properties)
{
    const uint64_t bytes = (uint64_t)standin_setting("STANDIN_BYTES", 1L << 30);
    (void)number;
    *count = 1;
    memcpy(properties + 32, &bytes, sizeof bytes);
    return SUCCESS;
}

int zeContextCreate(void *driver, const void *options, void **context)
{
    (void)driver, (void)options;
    *context = (void *)7;
    return SUCCESS;
}

int zeCommandListCreateImmediate(void *context, void *number, const void *options, void **list)
{
    (void)number;
    uint32_t mode;
    memcpy(&mode, (const char *)options + 28, sizeof mode);
    *list = (void *)8;
    return context == (void *)7 && mode == 1 ? SUCCESS : 1; /* synchronous */
}

int zeCommandListAppendMemoryCopy(void *list, void *to, const void *from, size_t bytes, void *a, uint32_t b, void *c)
{
    (void)a, (void)b, (void)c;
    return list == (void *)8 && copy(to, from, bytes) == SUCCESS ? synchronize() : 1;
}

int zeMemAllocDevice(void *context, const void *options, size_t bytes, size_t alignment, void *number, void **memory)
{
    (void)context, (void)options, (void)alignment, (void)number;
    return allocate(memory, bytes);
}

int zeMemAllocShared(void *context, const void *options, const void *host, size_t bytes, size_t alignment, void *number,
                     void **memory)
{
    (void)host;
    return zeMemAllocDevice(context, options, bytes, alignment, number, memory);
}

int zeMemFree(void *context, void *memory)
{
    (void)context;
    return release(memory);
}
