/* SPDX-License-Identifier: Apache-2.0 */
/* Which mount a path is below, in a list of mounts as Linux writes it: the lines of Lustre, GPFS, BeeGFS and NFS have
 * the form that published lists of mounts have, because none of these is mounted here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "filesystem.h"
#include "random.h"

static const char mounts[] =
    "/dev/sda1 / ext4 rw,relatime,errors=remount-ro 0 0\n"
    "tmpfs /scratch tmpfs rw 0 0\n"
    "10.0.0.1@o2ib:10.0.0.2@o2ib:/work /scratch lustre rw,flock,lazystatfs,encrypt 0 0\n"
    "gpfs0 /gpfs/project gpfs rw,relatime 0 0\n"
    "beegfs_nodev /mnt/beegfs beegfs rw,relatime,cfgFile=/etc/beegfs/beegfs-client.conf 0 0\n"
    "nfs1.site:/export/home /home nfs4 "
    "rw,noatime,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,nconnect=4,sec=sys,clientaddr=10.0.0.9,"
    "addr=10.0.0.3 0 0\n"
    "/dev/sdb1 /data\\040disk xfs ro 0 0\n"
    "//server/share /cifs cifs rw,vers=3.1.1,username=me,password=s3cret,,x,,,,y,domain=site 0 0\n"
    "broken\n";
static char list[] = "mounts-XXXXXX";

static void write_list(const char *text, size_t bytes)
{
    unlink(list); /* ext4 waits for the disk when a file that was emptied is closed */
    FILE *file = fopen(list, "w");
    CHECK(file && fwrite(text, 1, bytes, file) == bytes && fclose(file) == 0, "cannot write %s", list);
}

static void check_mount(const char *path, const char *type, const char *source, const char *point, const char *options)
{
    struct mount mount;
    find_mount(list, path, &mount);
    CHECK(strcmp(mount.type, type) == 0, "%s: type '%s'", path, mount.type);
    CHECK(strcmp(mount.source, source) == 0, "%s: source '%s'", path, mount.source);
    CHECK(strcmp(mount.point, point) == 0, "%s: point '%s'", path, mount.point);
    json_t *logged = mount_options_json(mount.options);
    char *text = json_dumps(logged, JSON_COMPACT);
    CHECK(strcmp(text, options) == 0, "%s: options %s", path, text);
    free(text);
    json_decref(logged);
}

static void check_source(const char *source, const char *wanted)
{
    json_t *logged = mount_source_json(source);
    char *text = json_dumps(logged, JSON_ENCODE_ANY);
    CHECK(strcmp(text, wanted) == 0, "'%s': %s", source, text);
    free(text);
    json_decref(logged);
}

/* A list with anything in it gives a mount whose texts end, of a path below it. */
static void check_changed(void)
{
    for (uint64_t change = 0; change < 20000; change++) {
        char text[sizeof mounts];
        struct mount mount;
        memcpy(text, mounts, sizeof mounts);
        for (uint64_t i = 0; i < 8; i++) {
            const uint64_t what = random_number(1, 8 * change + i);
            text[what % (sizeof mounts - 1)] = what >> 40 & 1 ? "\n \\,=/"[(what >> 41) % 6] : (char)(what >> 48);
        }
        write_list(text, sizeof mounts - 1);
        find_mount(list, "/scratch/run", &mount);
        CHECK(strncmp("/scratch/run", mount.point, strlen(mount.point)) == 0, "change %d: '%s'", (int)change,
              mount.point);
        json_t *options = mount_options_json(mount.options), *source = mount_source_json(mount.source);
        CHECK(json_is_array(options) && (source != NULL), "change %d", (int)change);
        json_decref(options);
        json_decref(source);
    }
}

int main(void)
{
    const int made = mkstemp(list);
    CHECK(made >= 0 && close(made) == 0, "cannot make %s", list);
    write_list(mounts, sizeof mounts - 1);
    check_mount("/scratch", "lustre", "10.0.0.1@o2ib:10.0.0.2@o2ib:/work", "/scratch",
                "[\"rw\",\"flock\",\"lazystatfs\",\"encrypt\"]");
    check_mount("/scratch2/run", "ext4", "/dev/sda1", "/", "[\"rw\",\"relatime\",\"errors=remount-ro\"]");
    check_mount("/gpfs/project/run", "gpfs", "gpfs0", "/gpfs/project", "[\"rw\",\"relatime\"]");
    check_mount("/mnt/beegfs/run", "beegfs", "beegfs_nodev", "/mnt/beegfs",
                "[\"rw\",\"relatime\",\"cfgFile=/etc/beegfs/beegfs-client.conf\"]");
    check_mount("/home/me", "nfs4", "nfs1.site:/export/home", "/home",
                "[\"rw\",\"noatime\",\"vers=4.2\",\"rsize=1048576\",\"wsize=1048576\",\"hard\",\"proto=tcp\","
                "\"nconnect=4\",\"sec=sys\",\"clientaddr=10.0.0.9\",\"addr=10.0.0.3\"]");
    check_mount("/data disk/run", "xfs", "/dev/sdb1", "/data disk", "[\"ro\"]");
    check_mount("/cifs/run", "cifs", "//server/share", "/cifs",
                "[\"rw\",\"vers=3.1.1\",\"username=me\",\"password=(not logged)\",\"domain=site\"]");
    check_changed();
    unlink(list);
    check_mount("/home/me", "unknown", "", "", "[]");
    check_source("davs://me:s3cret@server/share", "\"davs://server/share\"");
    check_source("https://server/a@b", "\"https://server/a@b\"");
    check_source("10.0.0.1@tcp:/scratch", "\"10.0.0.1@tcp:/scratch\"");
    check_source("", "null");
    return checks_status();
}
