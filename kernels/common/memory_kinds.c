/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_kinds.h. The table is at the end. */
#include "memory_kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "first_line.h"
#include "memory.h"
#include "vendor_calls.h"
#include "vendor_library.h"

enum { MESSAGE_LENGTH = 512, MOST_DRIVERS = 16, MOST_DEVICES = 64, PAGE = 4096 };

static char message[MESSAGE_LENGTH];

#define COMPLAIN(...) (snprintf(message, sizeof message, __VA_ARGS__), message)

/* A vendor's runtime library, and how it is used. */
struct vendor {
    struct vendor_library library;
    const char *(*select)(const struct vendor *vendor, int place, struct memory_device *device);
    const char *(*allocate)(const struct vendor *vendor, bool managed, size_t bytes, void **memory);
    void (*release)(const struct vendor *vendor, void *memory);
    const char *(*copy)(const struct vendor *vendor, void *to, const void *from, size_t bytes);
    const char *(*synchronize)(const struct vendor *vendor);
};

/* The kernel of the operating system knows devices by the PCI address in lower case. */
static int numa_node_of(const char *pci_address)
{
    char line[32];
    int node;
    read_first_line(line, sizeof line, "/sys/bus/pci/devices/%s/numa_node", pci_address);
    return sscanf(line, "%d", &node) == 1 && node >= 0 ? node : NO_NUMA_NODE;
}

/* --- CUDA and HIP ------------------------------------------------------------------------------------------------- */

static const char *const runtime_names[] = {RUNTIME_CALLS(CALL_NAME) NULL};

/* dlsym() gives addresses of objects */
static union {
    struct runtime_calls call;
    void *address[sizeof(struct runtime_calls) / sizeof(void *)];
} cuda_calls, hip_calls;

static const struct runtime_calls *runtime(const struct vendor *vendor)
{
    return (const struct runtime_calls *)vendor->library.calls;
}

static const char *runtime_error(const struct vendor *vendor, const char *call, unsigned result)
{
    if (result == 0)
        return NULL;
    return COMPLAIN("%s%s: %s (error %u)", vendor->library.prefix, call, runtime(vendor)->GetErrorString(result),
                    result);
}

#define RUNTIME(vendor, name, ...) runtime_error(vendor, #name, runtime(vendor)->name(__VA_ARGS__))

static const char *runtime_select(const struct vendor *vendor, int place, struct memory_device *device)
{
    int count = 0;
    size_t available, total = 0;
    const char *problem = RUNTIME(vendor, GetDeviceCount, &count);
    if (!problem && count < 1)
        return COMPLAIN("%sGetDeviceCount: no device", vendor->library.prefix);
    if (!problem)
        problem = RUNTIME(vendor, SetDevice, place % count);
    if (!problem)
        problem = RUNTIME(vendor, DeviceGetPCIBusId, device->pci_address, PCI_ADDRESS_LENGTH, place % count);
    if (!problem)
        problem = RUNTIME(vendor, MemGetInfo, &available, &total);
    device->bytes = (int64_t)total;
    return problem;
}

static const char *runtime_allocate(const struct vendor *vendor, bool managed, size_t bytes, void **memory)
{
    return managed ? RUNTIME(vendor, MallocManaged, memory, bytes, MANAGED_BY_ALL)
                   : RUNTIME(vendor, Malloc, memory, bytes);
}

static void runtime_free(const struct vendor *vendor, void *memory)
{
    runtime(vendor)->Free(memory);
}

static const char *runtime_copy(const struct vendor *vendor, void *to, const void *from, size_t bytes)
{
    return RUNTIME(vendor, Memcpy, to, from, bytes, COPY_BY_ADDRESSES);
}

static const char *runtime_synchronize(const struct vendor *vendor)
{
    return RUNTIME(vendor, DeviceSynchronize);
}

/* --- Level Zero --------------------------------------------------------------------------------------------------- */

static const char *const level_zero_names[] = {LEVEL_ZERO_CALLS(CALL_NAME) NULL};

static union {
    struct level_zero_calls call;
    void *address[sizeof(struct level_zero_calls) / sizeof(void *)];
} ze;
static ze_device_handle_t ze_device;
static ze_context_handle_t ze_context;
static ze_command_list_handle_t ze_list; /* synchronous: a copy has ended when its call returns */

static const char *ze_error(const char *call, unsigned result)
{
    return result == 0 ? NULL : COMPLAIN("ze%s: error 0x%x", call, result);
}

#define LEVEL_ZERO(name, ...) ze_error(#name, ze.call.name(__VA_ARGS__))

static const char *ze_describe(struct memory_device *device)
{
    ze_pci_ext_properties_t pci = {.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES};
    ze_device_memory_properties_t memory[MOST_DEVICES] = {{0}};
    uint32_t count = MOST_DEVICES;
    for (int i = 0; i < MOST_DEVICES; i++)
        memory[i].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    const char *problem = LEVEL_ZERO(DevicePciGetPropertiesExt, ze_device, &pci);
    if (!problem)
        problem = LEVEL_ZERO(DeviceGetMemoryProperties, ze_device, &count, memory);
    if (problem)
        return problem;
    snprintf(device->pci_address, sizeof device->pci_address, "%04x:%02x:%02x.%x", pci.address.domain, pci.address.bus,
             pci.address.device, pci.address.function);
    device->bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        device->bytes += (int64_t)memory[i].totalSize;
    return NULL;
}

/* Of the devices of all drivers. */
static const char *ze_choose(int place, ze_driver_handle_t *driver)
{
    ze_driver_handle_t drivers[MOST_DRIVERS], of_device[MOST_DEVICES];
    ze_device_handle_t devices[MOST_DEVICES];
    uint32_t driver_count = MOST_DRIVERS, count = 0;
    const char *problem = LEVEL_ZERO(Init, ZE_INIT_FLAG_GPU_ONLY);
    if (!problem)
        problem = LEVEL_ZERO(DriverGet, &driver_count, drivers);
    for (uint32_t i = 0; !problem && i < driver_count && count < MOST_DEVICES; i++) {
        uint32_t more = MOST_DEVICES - count;
        problem = LEVEL_ZERO(DeviceGet, drivers[i], &more, devices + count);
        for (uint32_t j = 0; !problem && j < more; j++)
            of_device[count++] = drivers[i];
    }
    if (problem)
        return problem;
    if (count == 0)
        return COMPLAIN("zeDeviceGet: no device");
    *driver = of_device[(uint32_t)place % count];
    ze_device = devices[(uint32_t)place % count];
    return NULL;
}

static const char *ze_select(const struct vendor *vendor, int place, struct memory_device *device)
{
    (void)vendor;
    static const ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    static const ze_command_queue_desc_t of_list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                    .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_driver_handle_t driver;
    const char *problem = ze_choose(place, &driver);
    if (!problem)
        problem = LEVEL_ZERO(ContextCreate, driver, &of_context, &ze_context);
    if (!problem)
        problem = LEVEL_ZERO(CommandListCreateImmediate, ze_context, ze_device, &of_list, &ze_list);
    return problem ? problem : ze_describe(device);
}

static const char *ze_allocate(const struct vendor *vendor, bool managed, size_t bytes, void **memory)
{
    (void)vendor;
    static const ze_device_mem_alloc_desc_t of_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    static const ze_host_mem_alloc_desc_t of_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    return managed ? LEVEL_ZERO(MemAllocShared, ze_context, &of_device, &of_host, bytes, PAGE, ze_device, memory)
                   : LEVEL_ZERO(MemAllocDevice, ze_context, &of_device, bytes, PAGE, ze_device, memory);
}

static void ze_free(const struct vendor *vendor, void *memory)
{
    (void)vendor;
    ze.call.MemFree(ze_context, memory);
}

static const char *ze_copy(const struct vendor *vendor, void *to, const void *from, size_t bytes)
{
    (void)vendor;
    return LEVEL_ZERO(CommandListAppendMemoryCopy, ze_list, to, from, bytes, NULL, 0, NULL);
}

static const char *ze_synchronize(const struct vendor *vendor)
{
    (void)vendor;
    return NULL;
}

/* --- the tables --------------------------------------------------------------------------------------------------- */

#define OF_RUNTIME                                                                                         \
    .select = runtime_select, .allocate = runtime_allocate, .release = runtime_free, .copy = runtime_copy, \
    .synchronize = runtime_synchronize

static struct vendor cuda = {.library = {"cuda",
                                         {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"},
                                         runtime_names,
                                         cuda_calls.address,
                                         NULL},
                             OF_RUNTIME};
static struct vendor hip = {.library = {"hip",
                                        {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
                                        runtime_names,
                                        hip_calls.address,
                                        NULL},
                            OF_RUNTIME};
static struct vendor level_zero = {
    .library = {"ze", {"libze_loader.so.1", "libze_loader.so"}, level_zero_names, ze.address, NULL},
    .select = ze_select,
    .allocate = ze_allocate,
    .release = ze_free,
    .copy = ze_copy,
    .synchronize = ze_synchronize};

const struct memory_kind memory_kinds[MEMORY_KINDS + 1] = {
    {"host", NULL, false},
    {"cuda", &cuda, false},
    {"cuda-managed", &cuda, true},
    {"hip", &hip, false},
    {"hip-managed", &hip, true},
    {"level-zero", &level_zero, false},
    {"level-zero-shared", &level_zero, true},
};

const char *memory_open(int kind, int place, struct memory_device *device, const char **library)
{
    struct vendor *vendor = memory_kinds[kind].vendor;
    const char *problem = vendor_library_open(&vendor->library);
    if (problem)
        return problem;
    problem = vendor->select(vendor, place, device);
    if (problem)
        return problem;
    for (char *c = device->pci_address; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    device->numa_node = numa_node_of(device->pci_address);
    *library = vendor->library.opened;
    return NULL;
}

const char *memory_allocate(int kind, size_t bytes, char **memory)
{
    const struct vendor *vendor = memory_kinds[kind].vendor;
    void *allocated = NULL;
    if (!vendor) {
        *memory = buffer_allocate(bytes);
        return NULL;
    }
    const char *problem = vendor->allocate(vendor, memory_kinds[kind].managed, bytes, &allocated);
    *memory = allocated;
    return problem;
}

void memory_free(int kind, char *memory, size_t bytes)
{
    const struct vendor *vendor = memory_kinds[kind].vendor;
    if (vendor)
        vendor->release(vendor, memory);
    else
        buffer_free(memory, bytes);
}

const char *memory_copy(int kind, char *to, const char *from, size_t bytes)
{
    const struct vendor *vendor = memory_kinds[kind].vendor;
    if (vendor)
        return vendor->copy(vendor, to, from, bytes);
    memcpy(to, from, bytes);
    return NULL;
}

const char *memory_synchronize(int kind)
{
    const struct vendor *vendor = memory_kinds[kind].vendor;
    return vendor ? vendor->synchronize(vendor) : NULL;
}
