/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's cuFile without GPUDirect Storage, on the stand-in for accelerators (accelerator.c): blocks in its device
 * memory move by POSIX calls. Like cuFile, it requires files opened with O_DIRECT, registered files and registered
 * memory. A misuse ends the process, and whatever is still registered at its end is reported.
 *
 * STANDIN_CUFILE       a function that fails: its name without cuFile, with the error 5030. `Write` and `Read` fail as
 *                      well as `Write:errno` (-1, and ENOSPC), `Write:short` (half of the bytes) and `Write:flip` (the
 *                      first byte is changed)
 * STANDIN_UNSUPPORTED  number of a device on which cuFile does not open, with the error 5009
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelerator.h"

enum { INTERNAL_ERROR = 5030, DEVICE_NOT_SUPPORTED = 5009, OPAQUE_FD = 1, COMPATIBILITY = 1 << 1 };

typedef struct {
    int err, cu_err;
} CUfileError_t;

static int files, is_open;
static const char *memory;
static size_t memory_bytes;

static int fails(const char *call)
{
    const char *failing = getenv("STANDIN_CUFILE");
    return failing && strcmp(failing, call) == 0;
}

static CUfileError_t result_of(const char *call)
{
    return (CUfileError_t){fails(call) ? INTERNAL_ERROR : 0, 0};
}

static void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "stand-in: %s\n", what);
    abort();
}

__attribute__((destructor)) static void report(void)
{
    if (files > 0 || memory)
        fprintf(stderr, "stand-in: %d files and %s memory are still registered\n", files, memory ? "some" : "no");
}

CUfileError_t cuFileDriverOpen(void)
{
    is_open = 1;
    if (standin_device() == standin_setting("STANDIN_UNSUPPORTED", -1))
        return (CUfileError_t){DEVICE_NOT_SUPPORTED, 0};
    return result_of("DriverOpen");
}

CUfileError_t cuFileDriverGetProperties(char *properties)
{
    const unsigned versions[] = {2, 24}, flags = COMPATIBILITY;
    memcpy(properties, versions, sizeof versions);
    memcpy(properties + 28, &flags, sizeof flags);
    return result_of("DriverGetProperties");
}

struct description {
    unsigned type;
    union {
        int fd;
        void *handle;
    } handle;
};

CUfileError_t cuFileHandleRegister(void **handle, const struct description *description)
{
    const int flags = fcntl(description->handle.fd, F_GETFL);
    require(is_open && description->type == OPAQUE_FD && flags != -1 && flags & O_DIRECT, "no file opened directly");
    files++;
    *handle = (char *)NULL + 1000 + description->handle.fd;
    return result_of("HandleRegister");
}

void cuFileHandleDeregister(void *handle)
{
    require(handle != NULL && fcntl((int)((char *)handle - (char *)NULL) - 1000, F_GETFL) != -1, "the file is closed");
    files--;
}

CUfileError_t cuFileBufRegister(const char *address, size_t bytes, int flags)
{
    require(!memory && standin_is_device(address) && flags == 0, "no device memory, or more than a block of it");
    memory = address;
    memory_bytes = bytes;
    return result_of("BufRegister");
}

CUfileError_t cuFileBufDeregister(const char *address)
{
    require(address == memory && standin_is_device(address), "this memory is not registered");
    memory = NULL;
    return result_of("BufDeregister");
}

/* Of a request, with what is planted. */
static ssize_t move(void *handle, char *address, size_t bytes, off_t offset, int writes)
{
    const int file = (int)((char *)handle - (char *)NULL) - 1000;
    require(address == memory && bytes <= memory_bytes, "a request is outside of the registered memory");
    if (fails(writes ? "Write" : "Read"))
        return -INTERNAL_ERROR;
    if (fails(writes ? "Write:errno" : "Read:errno")) {
        errno = ENOSPC;
        return -1;
    }
    if (fails(writes ? "Write:short" : "Read:short"))
        bytes /= 2;
    standin_enter();
    if (writes && fails("Write:flip"))
        address[0] ^= 1;
    const ssize_t moved = writes ? pwrite(file, address, bytes, offset) : pread(file, address, bytes, offset);
    standin_leave();
    return moved;
}

ssize_t cuFileRead(void *handle, void *address, size_t bytes, off_t offset, off_t address_offset)
{
    return move(handle, (char *)address + address_offset, bytes, offset, 0);
}

ssize_t cuFileWrite(void *handle, const void *address, size_t bytes, off_t offset, off_t address_offset)
{
    return move(handle, (char *)address + address_offset, bytes, offset, 1);
}
