/* SPDX-License-Identifier: Apache-2.0 */
/* A skeleton of an interface for PRIOMark: copy this file, and replace its name and its calls. As it is, it uses POSIX
 * calls. The comments of priomark_interface.h explain each function. */
#include <errno.h>
#include <fcntl.h>
#include <priomark_interface.h>
#include <string.h>
#include <unistd.h>

static void open_file(struct priomark_file *file, bool create)
{
    file->descriptor = open(file->path, O_RDWR | (create ? O_CREAT : 0), 0600);
    if (file->descriptor < 0)
        priomark_stop(file, "open", "%s; check the file system", strerror(errno));
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    if (pread(file->descriptor, data, (size_t)bytes, offset) != bytes)
        priomark_stop(file, "read", "%s; check the file system", strerror(errno));
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    if (pwrite(file->descriptor, data, (size_t)bytes, offset) != bytes)
        priomark_stop(file, "write", "%s; is the disk full?", strerror(errno));
}

static void sync_file(struct priomark_file *file)
{
    if (fsync(file->descriptor) != 0)
        priomark_stop(file, "synchronise", "%s; check the file system", strerror(errno));
}

static void close_file(struct priomark_file *file)
{
    if (close(file->descriptor) != 0)
        priomark_stop(file, "close", "%s; check the file system", strerror(errno));
}

const struct priomark_interface priomark_interface = {
    .version = PRIOMARK_INTERFACE,
    .name = "skeleton",
    .summary = "POSIX calls, to copy from",
    .figure = PRIOMARK_BANDWIDTH,
    .plain = true,
    .open = open_file,
    .read = read_block,
    .write = write_block,
    .sync = sync_file,
    .close = close_file,
};
