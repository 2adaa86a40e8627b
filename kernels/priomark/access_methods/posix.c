/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: the methods with POSIX calls. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "io_error.h"
#include "storage.h"

int64_t block_offset(const struct file *file, int64_t block)
{
    if (block < file->run_blocks)
        return file->start + block * file->block_bytes;
    return file->start + block / file->run_blocks * file->stride_bytes + block % file->run_blocks * file->block_bytes;
}

const struct method *find_method(const struct method *methods, const char *name)
{
    for (; methods->name; methods++)
        if (strcmp(methods->name, name) == 0)
            return methods;
    return NULL;
}

void posix_stop(const struct file *file, const char *what, int error)
{
    priomark_fail(file->run, "cannot %s '%s': %s; %s", what, file->path, strerror(error),
                  io_remedy(error, file->method->direct, SMALLER_PROCESS_SIZE));
}

void stop_short(const struct file *file, const char *what, int64_t done, int64_t bytes)
{
    priomark_fail(file->run, "could %s only %" PRId64 " of %" PRId64 " bytes of '%s'; %s", what, done, bytes,
                  file->path, strcmp(what, "write") == 0 ? "is the disk full?" : "did another program change it?");
}

void posix_read_range(struct file *file, char *data, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        const ssize_t count = pread(file->posix, data, (size_t)bytes, offset);
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

void posix_write_range(struct file *file, const char *data, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        const ssize_t count = pwrite(file->posix, data, (size_t)bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            posix_stop(file, "write", count < 0 ? errno : ENOSPC);
        data += count, offset += count, bytes -= count;
    }
}

static void posix_open(struct file *file, bool create)
{
    if (file->held) {
        file->posix = file->held;
        return;
    }
    const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0) | (file->method->direct ? O_DIRECT : 0);
    file->posix = open(file->path, flags, 0600);
    if (file->posix < 0)
        posix_stop(file, create ? "create" : "open", errno);
}

static void posix_read(struct file *file, char *data, int64_t block)
{
    posix_read_range(file, data, file->block_bytes, block_offset(file, block));
}

static void posix_write(struct file *file, const char *data, int64_t block)
{
    posix_write_range(file, data, file->block_bytes, block_offset(file, block));
}

static void posix_sync(struct file *file)
{
    if (fsync(file->posix) != 0)
        posix_stop(file, "synchronise", errno);
}

static void posix_close(struct file *file)
{
    if (!file->held && close(file->posix) != 0)
        posix_stop(file, "close", errno);
    file->posix = -1;
}

const struct method posix_methods[] = {
    /* name, direct */
    {"posix", false, posix_open, posix_read, posix_write, posix_sync, posix_close},
    {"posix-direct", true, posix_open, posix_read, posix_write, posix_sync, posix_close},
    {0}};

/* The device itself, or a file in its place, without the page cache. */
const struct method device_methods[] = {{"device", true, posix_open, posix_read, posix_write, posix_sync, posix_close},
                                        {0}};
