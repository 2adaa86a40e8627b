/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: the methods with POSIX calls. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "io_error.h"
#include "storage.h"

int64_t block_offset(const struct priomark_file *file, int64_t block)
{
    if (block < file->run_blocks)
        return file->start + block * file->block_bytes;
    return file->start + block / file->run_blocks * file->stride_bytes + block % file->run_blocks * file->block_bytes;
}

void posix_stop(const struct priomark_file *file, const char *what, int error)
{
    priomark_fail(file->run, "cannot %s '%s': %s; %s", what, file->path, strerror(error),
                  io_remedy(error, file->interface->direct, LESS_DATA));
}

void stop_short(const struct priomark_file *file, const char *what, int64_t done, int64_t bytes)
{
    priomark_fail(file->run, "could %s only %" PRId64 " of %" PRId64 " bytes of '%s'; %s", what, done, bytes,
                  file->path, strcmp(what, "write") == 0 ? "is the disk full?" : "did another program change it?");
}

void posix_read(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        const ssize_t count = pread(file->descriptor, data, (size_t)bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            posix_stop(file, "read", errno);
        if (count == 0)
            priomark_fail(file->run,
                          "'%s' ends at byte %" PRId64 ", before the data that was written to it; did another program "
                          "change it?",
                          file->path, offset);
        data += count, offset += count, bytes -= count;
    }
}

static void write_all(struct priomark_file *file, ssize_t (*call)(int, const void *, size_t, off_t), const char *data,
                      int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        const ssize_t count = call(file->descriptor, data, (size_t)bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            posix_stop(file, "write", count < 0 ? errno : ENOSPC);
        data += count, offset += count, bytes -= count;
    }
}

void posix_write(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    write_all(file, pwrite, data, bytes, offset);
}

static ssize_t system_write(int descriptor, const void *data, size_t bytes, off_t offset)
{
    return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}

void posix_fill(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    write_all(file, system_write, data, bytes, offset);
}

void posix_open(struct priomark_file *file, bool create)
{
    const int flags = (file->reads_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | (create ? O_CREAT : 0);
    file->descriptor = open(file->path, flags | (file->interface->direct ? O_DIRECT : 0), 0600);
    if (file->descriptor < 0)
        posix_stop(file, create ? "create" : "open", errno);
}

void posix_sync(struct priomark_file *file)
{
    if (fsync(file->descriptor) != 0)
        posix_stop(file, "synchronise", errno);
}

static void posix_close(struct priomark_file *file)
{
    if (close(file->descriptor) != 0)
        posix_stop(file, "close", errno);
}

/* A device is open since the plan, see device.h. */
static void device_or_file_open(struct priomark_file *file, bool create)
{
    const struct device *device = file->own;
    if (device)
        file->descriptor = device->file;
    else
        posix_open(file, create);
}

static void device_or_file_close(struct priomark_file *file)
{
    if (!file->own)
        posix_close(file);
}

#define POSIX_FUNCTIONS .read = posix_read, .write = posix_write, .sync = posix_sync, .plain = true

const struct priomark_interface posix_interface = {
    .name = "posix", .open = posix_open, .close = posix_close, POSIX_FUNCTIONS};

const struct priomark_interface posix_direct_interface = {
    .name = "posix-direct", .direct = true, .open = posix_open, .close = posix_close, POSIX_FUNCTIONS};

/* The device itself, or a file in its place, without the page cache. */
const struct priomark_interface device_interface = {
    .name = "device", .direct = true, .open = device_or_file_open, .close = device_or_file_close, POSIX_FUNCTIONS};
