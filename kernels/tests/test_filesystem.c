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

/* 90 and 95 % of the targets of /lake are in use; one does not answer, and the fourth belongs to another file system.
 */
static const char made_targets[] =
    "cd %1$s && mkdir -p sys/fs/lustre/osc proc/fs/lustre/osc && cd sys/fs/lustre/osc && "
    "target() { mkdir $1 && echo $2 >$1/kbytestotal && echo $3 >$1/kbytesavail; } && "
    "target lake-OST0000-osc-ffff8800 1000 100 && target lake-OST000a-osc-ffff8800 2000 100 && "
    "target lake-OST0002-osc-ffff8800 0 0 && target home-OST0000-osc-ffff8801 1000 1 && "
    "cd %1$s/proc/fs/lustre/osc && target old-OST0001-osc-ffff 10 5";

static void check_target(const char *root, const char *source, const char *type, const char *name, int64_t total,
                         int64_t available)
{
    struct mount mount = {0};
    snprintf(mount.source, sizeof mount.source, "%s", source);
    snprintf(mount.type, sizeof mount.type, "%s", type);
    const struct target fullest = fullest_target(root, &mount);
    CHECK(strcmp(fullest.name, name) == 0 && fullest.total_bytes == total && fullest.free_bytes == available,
          "%s: '%s', %lld of %lld bytes free", source, fullest.name, (long long)fullest.free_bytes,
          (long long)fullest.total_bytes);
}

static void check_targets(void)
{
    char root[] = "targets-XXXXXX", command[1024];
    CHECK(mkdtemp(root), "cannot make %s", root);
    char *folder = realpath(root, NULL);
    snprintf(command, sizeof command, made_targets, folder);
    CHECK(system(command) == 0, "%s", command);
    check_target(folder, "10.0.0.1@o2ib:/lake", "lustre", "lake-OST000a", 2000 * 1024, 100 * 1024);
    check_target(folder, "10.0.0.1@o2ib:/lake/sub", "lustre", "lake-OST000a", 2000 * 1024, 100 * 1024);
    check_target(folder, "10.0.0.1@tcp:/old", "lustre", "old-OST0001", 10 * 1024, 5 * 1024);
    check_target(folder, "10.0.0.1@tcp:/lak", "lustre", "", 0, 0);
    check_target(folder, "10.0.0.1:/lake", "nfs4", "", 0, 0);
    check_target(folder, "lake", "lustre", "", 0, 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    free(folder);
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
    check_targets();
    unlink(list);
    check_mount("/home/me", "unknown", "", "", "[]");
    check_source("davs://me:s3cret@server/share", "\"davs://server/share\"");
    check_source("https://server/a@b", "\"https://server/a@b\"");
    check_source("10.0.0.1@tcp:/scratch", "\"10.0.0.1@tcp:/scratch\"");
    check_source("", "null");
    return checks_status();
}
