/* SPDX-License-Identifier: Apache-2.0 */
/* See device.h. The first process of a node keeps the device open with O_EXCL until the end of the run, so that it
 * cannot be mounted meanwhile. Linux refuses O_EXCL if the device is in use. */
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#if HAVE_BLKID
#include <blkid.h>
#endif

#include "agreement.h"
#include "device_use.h"
#include "fail.h"
#include "first_line.h"

enum { SERIAL_LENGTH = 128 };

static const char *what_it_is(mode_t mode)
{
    return S_ISLNK(mode)   ? "a symbolic link; give the device itself"
           : S_ISREG(mode) ? "a file; omit the key to measure a file of the run"
           : S_ISDIR(mode) ? "a directory"
                           : "not a block device";
}

/* The serial number of the disk, also for its partitions; "" if it has none. */
static void read_serial(dev_t number, char serial[SERIAL_LENGTH])
{
    static const char *const places[] = {"serial", "device/serial", "../serial", "../device/serial", NULL};
    serial[0] = '\0';
    for (const char *const *place = places; *place && !serial[0]; place++) {
        char line[SERIAL_LENGTH];
        read_first_line(line, sizeof line, "/sys/dev/block/%u:%u/%s", major(number), minor(number), *place);
        snprintf(serial, SERIAL_LENGTH, "%s", line + strspn(line, " "));
        for (size_t end = strlen(serial); end && serial[end - 1] == ' '; end--)
            serial[end - 1] = '\0';
    }
}

static bool is_confirmed(const struct device *device, dev_t number, const char *confirmation, char *reason,
                         size_t bytes)
{
    char serial[SERIAL_LENGTH], size[32];
    read_serial(number, serial);
    snprintf(size, sizeof size, "%" PRId64, device->bytes);
    if (confirmation && (strcmp(confirmation, size) == 0 || (serial[0] && strcmp(confirmation, serial) == 0)))
        return true;
    snprintf(reason, bytes, "it is not confirmed: set confirm = \"%" PRId64 "\", its size in bytes%s%s%s",
             device->bytes, serial[0] ? ", or confirm = \"" : "", serial,
             serial[0] ? "\", its serial number, if it is the right device" : ", if it is the right device");
    return false;
}

#if HAVE_BLKID
static void find_signature(int file, char *reason, size_t bytes)
{
    const char *kind = NULL;
    blkid_probe probe = blkid_new_probe();
    if (!probe || blkid_probe_set_device(probe, file, 0, 0) != 0) {
        snprintf(reason, bytes, "it cannot be examined for signatures");
        blkid_free_probe(probe);
        return;
    }
    blkid_probe_enable_superblocks(probe, 1);
    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(probe, 1);
    const int result = blkid_do_safeprobe(probe);
    if (result == 0 && blkid_probe_lookup_value(probe, "TYPE", &kind, NULL) != 0 &&
        blkid_probe_lookup_value(probe, "PTTYPE", &kind, NULL) != 0)
        kind = NULL;
    if (result != 1) /* 1: no signature */
        snprintf(reason, bytes,
                 "it has a partition table or signature (%.60s), so somebody may need its data; "
                 "if nobody does, remove the signature with wipefs",
                 result == 0 && kind ? kind : "of unknown kind");
    blkid_free_probe(probe);
}
#else
static void find_signature(int file, char *reason, size_t bytes)
{
    (void)file;
    snprintf(reason, bytes,
             "this build cannot search devices for signatures and therefore refuses all of them: build priomark with "
             "libblkid");
}
#endif

/* For reading and writing, while the first process of the node has the device open. */
static int reopen(const char *path, bool writable, dev_t number, char *reason, size_t bytes)
{
    struct stat opened;
    const int file = open(path, (writable ? O_RDWR : O_RDONLY) | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fstat(file, &opened) != 0 || opened.st_rdev != number)
        snprintf(reason, bytes, "%s", file < 0 ? strerror(errno) : "it was replaced during the examination");
    return file;
}

/* The exclusive descriptor is never closed, so that the device is reserved until the end of the process. */
static void examine(const char *path, const struct permission *permission, struct device *device, dev_t *number,
                    char *reason, size_t bytes)
{
    const bool writable = permission->writable;
    struct stat named, opened;
    uint64_t size = 0;
    int read_only = 0;
    if (lstat(path, &named) != 0) {
        snprintf(reason, bytes, "%s", strerror(errno));
        return;
    }
    if (!S_ISBLK(named.st_mode)) {
        snprintf(reason, bytes, "it is %s", what_it_is(named.st_mode));
        return;
    }
    const int holder = open(path, O_RDONLY | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
    if (holder < 0) {
        snprintf(reason, bytes, "%s", errno == EBUSY ? "it is mounted or in use" : strerror(errno));
        return;
    }
    if (fstat(holder, &opened) != 0 || opened.st_rdev != named.st_rdev || ioctl(holder, BLKGETSIZE64, &size) != 0 ||
        ioctl(holder, BLKSSZGET, &device->sector_bytes) != 0) {
        snprintf(reason, bytes, "its size cannot be read: %s", strerror(errno));
        return;
    }
    if (writable && (ioctl(holder, BLKROGET, &read_only) != 0 || read_only)) {
        snprintf(reason, bytes, "it is read-only; choose another device, or set read_write = \"1:0\"");
        return;
    }
    device->bytes = (int64_t)size;
    *number = opened.st_rdev;
    if (!is_confirmed(device, *number, permission->confirmation, reason, bytes))
        return;
    find_signature(holder, reason, bytes);
    if (!reason[0])
        find_openers(*number, reason, bytes);
    if (!reason[0] && writable && !permission->overwrite)
        find_content(holder, device->bytes, permission->process_bytes, device->processes, reason, bytes);
    if (reason[0])
        return;
    device->file = reopen(path, writable, *number, reason, bytes);
}

struct device device_open(const char *path, const struct permission *permission, char *reason, size_t reason_bytes)
{
    struct device device = {.file = -1};
    dev_t number = 0;
    int64_t shared[3];
    MPI_Comm node;
    reason[0] = '\0';
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_CHECK(MPI_Comm_rank(node, &device.process));
    MPI_CHECK(MPI_Comm_size(node, &device.processes));
    if (device.process == 0)
        examine(path, permission, &device, &number, reason, reason_bytes);
    if (agree_on_reason(MPI_COMM_WORLD, reason, reason_bytes) == NO_RANK) {
        memcpy(shared, (int64_t[]){(int64_t)number, device.bytes, device.sector_bytes}, sizeof shared);
        MPI_CHECK(MPI_Bcast(shared, 3, MPI_INT64_T, 0, node));
        device.bytes = shared[1];
        device.sector_bytes = (int)shared[2];
        if (device.process != 0)
            device.file = reopen(path, permission->writable, (dev_t)shared[0], reason, reason_bytes);
        agree_on_reason(MPI_COMM_WORLD, reason, reason_bytes);
    }
    MPI_CHECK(MPI_Comm_free(&node));
    return device;
}
