/* SPDX-License-Identifier: Apache-2.0 */
/* GPUDirect Storage: NVIDIA's cuFile moves blocks between a file and memory of an accelerator. Only these transfers are
 * measured. The block of a file is filled and examined by stage(), through memory of the host. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory_kinds.h"
#include "storage.h"
#include "vendor_calls.h"
#include "vendor_library.h"

enum { TEXT_LENGTH = 1024 };

static const char *const names[] = {CUFILE_CALLS(CALL_NAME) NULL};
static union {
    struct cufile_calls call;
    void *address[sizeof(struct cufile_calls) / sizeof(void *)];
} cufile;
static struct vendor_library library = {"cuFile", {"libcufile.so.0", "libcufile.so"}, names, cufile.address, NULL};

static struct memory_device device; /* of this process */
static const char *runtime;         /* the library of CUDA */

struct opened {
    CUfileHandle_t handle;
    char *block; /* in memory of the device */
};

/* NULL, or what the call returned. */
static const char *error_of(const char *call, CUfileError_t result)
{
    static char text[TEXT_LENGTH];
    if (result.err == 0)
        return NULL;
    snprintf(text, sizeof text, "cuFile%s: error %u of cuFile, %u of CUDA", call, result.err, result.cu_err);
    return text;
}

/* --- what the system supports ------------------------------------------------------------------------------------- */

static int place_on_node(void)
{
    MPI_Comm node;
    int place;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    return place;
}

/* The device comes first: without a driver of CUDA, cuFileDriverOpen() of cuFile 1.20 does not return. */
static const char *why_not(void)
{
    static char text[TEXT_LENGTH];
    const int place = place_on_node();
    const char *problem = vendor_library_open(&library);
    if (!problem)
        problem = memory_open(MEMORY_CUDA, place, &device, &runtime);
    if (!problem)
        problem = error_of("DriverOpen", cufile.call.DriverOpen());
    if (!problem)
        return NULL;
    snprintf(text, sizeof text, "%.400s; run 'gdscheck -p' on the node, or remove the method cufile from the workload",
             problem);
    return text;
}

/* Of the first process. In compatibility mode, data may pass through the host; cuFile does not report whether it did.
 */
static const char *properties(void)
{
    static char text[TEXT_LENGTH];
    CUfileDrvProps_t driver = {0};
    const char *problem = error_of("DriverGetProperties", cufile.call.DriverGetProperties(&driver));
    if (problem)
        return problem;
    const bool compatible = driver.nvfs.dcontrolflags >> CU_FILE_ALLOW_COMPAT_MODE & 1;
    snprintf(text, sizeof text, "%s, %s, device %s, nvidia-fs %u.%u, compatibility mode %s", library.opened, runtime,
             device.pci_address, driver.nvfs.major_version, driver.nvfs.minor_version,
             compatible ? "allowed" : "not allowed");
    return text;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void check(const struct priomark_file *file, const char *problem, const char *what)
{
    if (problem)
        priomark_stop(file, what, "%s; run 'gdscheck -p' on this node", problem);
}

static void open_file(struct priomark_file *file, bool create)
{
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        priomark_stop(file, "open", "no memory; use fewer processes on a node");
    posix_open(file, create);
    CUfileDescr_t description = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file->descriptor};
    const size_t bytes = (size_t)file->block_bytes;
    check(file, memory_allocate(MEMORY_CUDA, bytes, &opened->block), "allocate a block for");
    check(file, error_of("HandleRegister", cufile.call.HandleRegister(&opened->handle, &description)), "register");
    check(file, error_of("BufRegister", cufile.call.BufRegister(opened->block, bytes, 0)), "register a block for");
    file->own = opened;
}

static void close_file(struct priomark_file *file)
{
    struct opened *opened = file->own;
    check(file, error_of("BufDeregister", cufile.call.BufDeregister(opened->block)), "release the block of");
    cufile.call.HandleDeregister(opened->handle);
    memory_free(MEMORY_CUDA, opened->block, (size_t)file->block_bytes);
    if (close(file->descriptor) != 0)
        posix_stop(file, "close", errno);
    free(opened);
}

static void stage(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes)
{
    char *block = ((struct opened *)file->own)->block;
    const bool writes = operation == PRIOMARK_WRITE;
    check(file, memory_copy(MEMORY_CUDA, writes ? block : data, writes ? data : block, (size_t)bytes),
          "copy a block of");
    check(file, memory_synchronize(MEMORY_CUDA), "copy a block of");
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* `moved`: bytes, -1 and errno, or a negative error of cuFile. */
static void check_moved(const struct priomark_file *file, const char *what, ssize_t moved, int64_t bytes)
{
    if (moved == bytes)
        return;
    if (moved == -1)
        posix_stop(file, what, errno);
    if (moved < 0)
        check(file, error_of("", (CUfileError_t){.err = (unsigned)-moved}), what);
    stop_short(file, what, moved, bytes);
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    const struct opened *opened = file->own;
    (void)data;
    check_moved(file, "read", cufile.call.Read(opened->handle, opened->block, (size_t)bytes, offset, 0), bytes);
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    const struct opened *opened = file->own;
    (void)data;
    check_moved(file, "write", cufile.call.Write(opened->handle, opened->block, (size_t)bytes, offset, 0), bytes);
}

const struct priomark_interface priomark_interface = {
    .version = PRIOMARK_INTERFACE,
    .name = "cufile",
    .summary = "GPUDirect Storage between a file and memory of an accelerator, by NVIDIA's cuFile",
    .plain = true,
    .direct = true,
    .open = open_file,
    .read = read_block,
    .write = write_block,
    .sync = posix_sync,
    .close = close_file,
    .stage = stage,
    .why_not = why_not,
    .properties = properties,
};
