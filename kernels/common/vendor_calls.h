/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the vendors' libraries that are called, declared as in the vendors' headers, which are not required
 * to build. A test compiles these declarations together with the vendors' headers. Enumerations are `unsigned`, as
 * compilers represent them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The runtimes of CUDA and HIP: the same functions, whose names begin with `cuda` or `hip`. */
typedef unsigned (*runtime_GetDeviceCount)(int *count);
typedef unsigned (*runtime_SetDevice)(int device);
typedef unsigned (*runtime_DeviceGetPCIBusId)(char *address, int bytes, int device);
typedef unsigned (*runtime_MemGetInfo)(size_t *available, size_t *total);
typedef unsigned (*runtime_Malloc)(void **memory, size_t bytes);
typedef unsigned (*runtime_MallocManaged)(void **memory, size_t bytes, unsigned flags);
typedef unsigned (*runtime_Free)(void *memory);
typedef unsigned (*runtime_Memcpy)(void *to, const void *from, size_t bytes, unsigned direction);
typedef unsigned (*runtime_DeviceSynchronize)(void);
typedef const char *(*runtime_GetErrorString)(unsigned result);
#define RUNTIME_CALLS(F) \
    F(GetDeviceCount)    \
    F(SetDevice)         \
    F(DeviceGetPCIBusId) \
    F(MemGetInfo) F(Malloc) F(MallocManaged) F(Free) F(Memcpy) F(DeviceSynchronize) F(GetErrorString)

/* cudaMemAttachGlobal, hipMemAttachGlobal; cudaMemcpyDefault, hipMemcpyDefault: the direction follows from the
 * addresses */
enum { MANAGED_BY_ALL = 1, COPY_BY_ADDRESSES = 4 };

/* Level Zero. */
#ifndef _ZE_API_H
typedef struct _ze_driver_handle_t *ze_driver_handle_t;
typedef struct _ze_device_handle_t *ze_device_handle_t;
typedef struct _ze_context_handle_t *ze_context_handle_t;
typedef struct _ze_command_list_handle_t *ze_command_list_handle_t;
typedef struct _ze_event_handle_t *ze_event_handle_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} ze_context_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t ordinal, index, flags, mode, priority;
} ze_command_queue_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags, ordinal;
} ze_device_mem_alloc_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} ze_host_mem_alloc_desc_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint32_t flags, maxClockRate, maxBusWidth;
    uint64_t totalSize;
    char name[256];
} ze_device_memory_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    struct {
        uint32_t domain, bus, device, function;
    } address;
    struct {
        int32_t genVersion, width;
        int64_t maxBandwidth;
    } maxSpeed;
} ze_pci_ext_properties_t;

enum {
    ZE_INIT_FLAG_GPU_ONLY = 1,
    ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
    ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
    ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC = 0xe,
    ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC = 0x15,
    ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC = 0x16,
    ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES = 0x10008,
    ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS = 1
};
#endif

typedef unsigned (*ze_Init)(uint32_t flags);
typedef unsigned (*ze_DriverGet)(uint32_t *count, ze_driver_handle_t *drivers);
typedef unsigned (*ze_DeviceGet)(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *devices);
typedef unsigned (*ze_DevicePciGetPropertiesExt)(ze_device_handle_t device, ze_pci_ext_properties_t *properties);
typedef unsigned (*ze_DeviceGetMemoryProperties)(ze_device_handle_t device, uint32_t *count,
                                                 ze_device_memory_properties_t *properties);
typedef unsigned (*ze_ContextCreate)(ze_driver_handle_t driver, const ze_context_desc_t *options,
                                     ze_context_handle_t *context);
typedef unsigned (*ze_CommandListCreateImmediate)(ze_context_handle_t context, ze_device_handle_t device,
                                                  const ze_command_queue_desc_t *options,
                                                  ze_command_list_handle_t *list);
typedef unsigned (*ze_CommandListAppendMemoryCopy)(ze_command_list_handle_t list, void *to, const void *from,
                                                   size_t bytes, ze_event_handle_t signal, uint32_t events,
                                                   ze_event_handle_t *wait_for);
typedef unsigned (*ze_MemAllocDevice)(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *options,
                                      size_t bytes, size_t alignment, ze_device_handle_t device, void **memory);
typedef unsigned (*ze_MemAllocShared)(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *options,
                                      const ze_host_mem_alloc_desc_t *host_options, size_t bytes, size_t alignment,
                                      ze_device_handle_t device, void **memory);
typedef unsigned (*ze_MemFree)(ze_context_handle_t context, void *memory);
#define LEVEL_ZERO_CALLS(F)      \
    F(Init)                      \
    F(DriverGet)                 \
    F(DeviceGet)                 \
    F(DevicePciGetPropertiesExt) \
    F(DeviceGetMemoryProperties) \
    F(ContextCreate)             \
    F(CommandListCreateImmediate) F(CommandListAppendMemoryCopy) F(MemAllocDevice) F(MemAllocShared) F(MemFree)

/* UCX. Its enumerations are packed; of its structures only the fields that the mask names are accessed. */
struct ucx_parameters {
    uint64_t field_mask, features;
    char others[240];
};
struct ucx_attributes {
    uint64_t field_mask;
    size_t request_size;
    unsigned thread_mode;
    uint64_t memory_types; /* a bit for each */
    char others[240];
};
typedef struct ucp_context *ucx_context;
enum {
    UCX_MAJOR = 1,
    UCX_MINOR = 10,
    UCX_FIELD_FEATURES = 1 << 0,
    UCX_TAGGED = 1 << 0,
    UCX_FIELD_MEMORY_TYPES = 1 << 2
};
typedef signed char (*ucx_init_version)(unsigned major, unsigned minor, const struct ucx_parameters *parameters,
                                        const void *config, ucx_context *context);
typedef signed char (*ucx_context_query)(ucx_context context, struct ucx_attributes *attributes);
typedef void (*ucx_cleanup)(ucx_context context);
#define UCX_CALLS(F) F(init_version) F(context_query) F(cleanup)

/* cuFile: GPUDirect Storage of NVIDIA. */
#ifndef __CUFILE_H_
typedef struct {
    unsigned err, cu_err; /* of cuFile, and of the driver of CUDA */
} CUfileError_t;
typedef void *CUfileHandle_t;
typedef struct {
    unsigned type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} CUfileDescr_t;
typedef struct {
    struct {
        unsigned major_version, minor_version;
        size_t poll_thresh_size, max_direct_io_size;
        unsigned dstatusflags, dcontrolflags; /* a bit for each */
    } nvfs;
    unsigned fflags, max_device_cache_size, per_buffer_cache_size, max_device_pinned_mem_size, max_batch_io_size,
        max_batch_io_timeout_msecs;
} CUfileDrvProps_t;
enum { CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1, CU_FILE_ALLOW_COMPAT_MODE = 1 };
#endif
typedef CUfileError_t (*cufile_DriverOpen)(void);
typedef CUfileError_t (*cufile_DriverGetProperties)(CUfileDrvProps_t *properties);
typedef CUfileError_t (*cufile_HandleRegister)(CUfileHandle_t *handle, CUfileDescr_t *description);
typedef void (*cufile_HandleDeregister)(CUfileHandle_t handle);
typedef CUfileError_t (*cufile_BufRegister)(const void *memory, size_t bytes, int flags);
typedef CUfileError_t (*cufile_BufDeregister)(const void *memory);
typedef ssize_t (*cufile_Read)(CUfileHandle_t handle, void *memory, size_t bytes, off_t offset, off_t memory_offset);
typedef ssize_t (*cufile_Write)(CUfileHandle_t handle, const void *memory, size_t bytes, off_t offset,
                                off_t memory_offset);
#define CUFILE_CALLS(F)    \
    F(DriverOpen)          \
    F(DriverGetProperties) \
    F(HandleRegister)      \
    F(HandleDeregister) F(BufRegister) F(BufDeregister) F(Read) F(Write)

/* Pointers to the functions of each list, in its order. */
#define RUNTIME_POINTER(name) runtime_##name name;
struct runtime_calls {
    RUNTIME_CALLS(RUNTIME_POINTER)
};
#define LEVEL_ZERO_POINTER(name) ze_##name name;
struct level_zero_calls {
    LEVEL_ZERO_CALLS(LEVEL_ZERO_POINTER)
};
#define UCX_POINTER(name) ucx_##name name;
struct ucx_calls {
    UCX_CALLS(UCX_POINTER)
};
#define CUFILE_POINTER(name) cufile_##name name;
struct cufile_calls {
    CUFILE_CALLS(CUFILE_POINTER)
};
