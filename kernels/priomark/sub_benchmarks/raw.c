/* SPDX-License-Identifier: Apache-2.0 */
/* raw: a device without the page cache (paper, section 4.1). Without the key `device`, a file of each process is
 * measured instead, as the log states. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "device.h"
#include "host.h"
#include "memory.h"
#include "peers.h"
#include "sub_benchmarks.h"

enum { REASON_LENGTH = 512 };

static const char *const names_of_patterns[] = {"read-write", "random-read-write", NULL};
static const char *const names_of_methods[] = {"device", NULL};

static const struct priomark_key keys[] = {
    {"device", PRIOMARK_TEXT, NULL, "block device; without it, a file of each process is measured", 0, 0, NULL},
    {"confirm", PRIOMARK_TEXT, NULL, "exactly the size of the device in bytes, or its serial number", 0, 0, NULL},
    {"overwrite", PRIOMARK_FLAG, "false", "overwrite a device that contains other bytes than 0", 0, 0, NULL},
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"read-write\", \"random-read-write\"]", "access patterns", 0, 0, names_of_patterns},
    {"methods", PRIOMARK_METHODS, "\"device\"", "access methods", 0, 0, names_of_methods},
    {0}};

static bool writes(const struct priomark *run)
{
    for (int i = 0; i < priomark_count(run, "read_write"); i++)
        if (priomark_share(run, "read_write", i) < 1)
            return true;
    return false;
}

static void refuse_impossible_sizes(const struct priomark *run, const struct device *device)
{
    for (int i = 0; i < priomark_count(run, "process_size"); i++)
        if (priomark_number(run, "process_size", i) > device->bytes / device->processes)
            priomark_refuse(run, "process_size",
                            "%d processes with %" PRId64 " bytes each do not fit on the device's %" PRId64,
                            device->processes, priomark_number(run, "process_size", i), device->bytes);
    for (int i = 0; i < priomark_count(run, "block_size"); i++)
        if (priomark_number(run, "block_size", i) % device->sector_bytes != 0)
            priomark_refuse(run, "block_size",
                            "%" PRId64 " bytes are not a multiple of the device's blocks of %d bytes",
                            priomark_number(run, "block_size", i), device->sector_bytes);
}

/* The device stays open and reserved until the end of the process. */
static void plan(struct priomark *run)
{
    if (priomark_count(run, "device") == 0) {
        add_cases(run, &(struct priomark_case){.target = PRIOMARK_ON_FILE}, 1);
        return;
    }
    char reason[REASON_LENGTH];
    const char *path = priomark_text(run, "device", 0);
    struct device *device = allocate(1, sizeof *device);
    for (int i = 0; i < priomark_count(run, "methods"); i++)
        if (strcmp(priomark_text(run, "methods", i), "device") != 0)
            priomark_refuse(run, "methods",
                            "the only method for a device is \"device\"; omit the others, or measure a file");
    if (run->shift)
        priomark_refuse(run, "device",
                        "a device belongs to its node, no other one can read it: omit --read-shift, or measure a file");
    if (run->workload->check && !writes(run))
        priomark_refuse(run, "read_write",
                        "a device that is only read cannot be checked: omit check, or measure a file");
    struct permission permission = {.confirmation =
                                        priomark_count(run, "confirm") ? priomark_text(run, "confirm", 0) : NULL,
                                    .writable = writes(run),
                                    .overwrite = priomark_number(run, "overwrite", 0) != 0};
    for (int i = 0; i < priomark_count(run, "process_size"); i++)
        if (priomark_number(run, "process_size", i) > permission.process_bytes)
            permission.process_bytes = priomark_number(run, "process_size", i);
    *device = device_open(path, &permission, reason, sizeof reason);
    if (reason[0])
        priomark_refuse(run, "device", "'%s' is not measured: %s", path, reason);
    refuse_impossible_sizes(run, device);
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_ON_DEVICE, .own = device}, 1);
}

static void place(struct priomark_file *file, const struct priomark_case *now)
{
    char name[64];
    const struct device *device = now->own;
    if (device) {
        file->own = (void *)device;
        file->start = device->process * now->process_bytes;
        snprintf(file->path, sizeof file->path, "%s", priomark_text(file->run, "device", 0));
        peers_access(file->path);
    } else {
        snprintf(name, sizeof name, "raw-%06d", file->owner);
        priomark_path(file->run, file->path, sizeof file->path, name);
    }
}

static const char *why_no_method(const struct priomark_interface *interface)
{
    return interface->direct ? NULL : "it does not bypass the page cache (direct)";
}

const struct sub_benchmark raw_benchmark = {.name = "raw",
                                            .summary = "a device without the page cache",
                                            .keys = keys,
                                            .plan = plan,
                                            .measure = measure_blocks,
                                            .place = place,
                                            .why_no_method = why_no_method};
