/* SPDX-License-Identifier: Apache-2.0 */
/* See layout.h. The attribute, as the posix and cluster translators of GlusterFS write it:
 * (<DISTRIBUTE:VOLUME-dht> (<REPLICATE:VOLUME-replicate-0> <POSIX(BRICK):HOST:PATH> <POSIX(BRICK):HOST:PATH>))
 *
 * Lustre's lustre.lov is binary and little-endian. A plain layout: magic number, pattern, 16 bytes of an identity, size
 * of a stripe, 2 bytes with the number of stripes, 2 bytes, in version 3 also 16 bytes with the name of a pool; then 24
 * bytes for each stripe, of which the last 4 are the number of its target. A composite layout has a plain one for each
 * part of a file, behind a header of 32 bytes and an entry of 48 bytes for each. Values without a size have 4 bytes. */
#include "layout.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fail.h"
#include "filesystem.h"
#include "gather.h"
#include "process_times.h"

/* --- GlusterFS ---------------------------------------------------------------------------------------------------- */

static const char brick_begins[] = "<POSIX(";

void bricks_of(const char *pathinfo, char server[SERVER_BYTES])
{
    size_t used = 0;
    server[0] = '\0';
    for (const char *brick = strstr(pathinfo, brick_begins); brick; brick = strstr(brick, brick_begins)) {
        brick += strlen(brick_begins);
        const char *closed = strstr(brick, "):"), *host = closed ? closed + 2 : NULL,
                   *end = host ? strchr(host, ':') : NULL;
        const int written = end ? snprintf(server + used, SERVER_BYTES - used, "%s%.*s:%.*s", used ? " " : "",
                                           (int)(end - host), host, (int)(closed - brick), brick)
                                : SERVER_BYTES;
        used += (size_t)written;
        if (used >= SERVER_BYTES) {
            server[0] = '\0';
            return;
        }
    }
}

/* --- Lustre ------------------------------------------------------------------------------------------------------- */

enum {
    PLAIN_1 = 0x0bd10bd0, /* magic numbers */
    PLAIN_3 = 0x0bd30bd0,
    COMPOSITE = 0x0bd60bd0,
    STRIPED =
        0x1, /* patterns: over targets, perhaps several times on one, perhaps compressed; on the metadata server */
    REPEATED = 0x200,
    COMPRESSED = 0x800,
    ON_METADATA = 0x100,
    STALE = 0x1, /* flags of a part: not valid any more; has its targets */
    PRESENT = 0x10,
    HEADER_1 = 32, /* bytes */
    HEADER_3 = 48,
    STRIPE = 24,
    COMPOSITE_HEADER = 32,
    ENTRY = 48,
    TARGETS = 0x10000 /* whose numbers have four digits */
};

struct targets {
    struct striping striping;
    bool has[TARGETS];
};

static uint32_t short_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t number_at(const unsigned char *bytes)
{
    return short_at(bytes) | short_at(bytes + 2) << 16;
}

static bool add_plain(struct targets *targets, const unsigned char *layout, size_t bytes)
{
    if (bytes < HEADER_1)
        return false;
    const size_t header = number_at(layout) == PLAIN_1 ? HEADER_1 : number_at(layout) == PLAIN_3 ? HEADER_3 : SIZE_MAX;
    const uint32_t pattern = number_at(layout + 4), stripes = short_at(layout + 28);
    if (bytes < header)
        return false;
    if (pattern == ON_METADATA)
        return true;
    if ((pattern & ~(uint32_t)(REPEATED | COMPRESSED)) != STRIPED || stripes > (bytes - header) / STRIPE)
        return false;
    for (size_t stripe = 0; stripe < stripes; stripe++) {
        const uint32_t number = number_at(layout + header + (stripe + 1) * STRIPE - 4);
        if (number >= TARGETS)
            return false;
        targets->has[number] = true;
    }
    struct striping *striping = &targets->striping;
    striping->parts += stripes > 0;
    if (stripes > striping->stripes) {
        striping->stripes = stripes;
        striping->stripe_bytes = number_at(layout + 24);
        snprintf(striping->pool, POOL_BYTES, "%.*s", header == HEADER_3 ? POOL_BYTES - 1 : 0,
                 (const char *)layout + HEADER_1);
    }
    return true;
}

static bool add_composite(struct targets *targets, const unsigned char *layout, size_t bytes)
{
    if (bytes < COMPOSITE_HEADER || number_at(layout + 4) != bytes)
        return false;
    const uint32_t parts = short_at(layout + 14);
    if (parts > (bytes - COMPOSITE_HEADER) / ENTRY)
        return false;
    for (size_t part = 0; part < parts; part++) {
        const unsigned char *entry = layout + COMPOSITE_HEADER + part * ENTRY;
        const uint32_t flags = number_at(entry + 4), begin = number_at(entry + 24), size = number_at(entry + 28);
        if (flags & STALE || !(flags & PRESENT))
            continue;
        if (begin > bytes || size > bytes - begin || !add_plain(targets, layout + begin, size))
            return false;
    }
    return true;
}

void lustre_layout(const unsigned char *attribute, size_t bytes, const char *name, struct file_layout *layout)
{
    struct targets targets = {0};
    size_t used = 0;
    layout->server[0] = '\0';
    if (bytes < sizeof(uint32_t) ||
        !(number_at(attribute) == COMPOSITE ? add_composite : add_plain)(&targets, attribute, bytes))
        return;
    targets.striping.preferred_bytes = layout->striping.preferred_bytes;
    layout->striping = targets.striping;
    const bool *const end = targets.has + TARGETS;
    for (const bool *at = targets.has; (at = memchr(at, true, (size_t)(end - at))) != NULL; at++) {
        used += (size_t)snprintf(layout->server + used, SERVER_BYTES - used, "%s%s%sOST%04x", used ? " " : "", name,
                                 name[0] ? "-" : "", (unsigned)(at - targets.has));
        if (used >= SERVER_BYTES) {
            layout->server[0] = '\0';
            return;
        }
    }
}

/* --- BeeGFS ------------------------------------------------------------------------------------------------------- */

enum { BEEGFS = 0x19830326, ALIAS_BYTES = 256 };

/* The answers of BeeGFS's client, as its header beegfs_ioctl_typedefs.h publishes them. */
struct beegfs_stripes {
    uint32_t pattern, chunk_bytes;
    uint16_t targets;
};
struct beegfs_target {
    uint32_t index, target, first, second, node, second_node; /* first and second: 0 if the file is not mirrored */
    char alias[ALIAS_BYTES], second_alias[ALIAS_BYTES];
};

static bool add_server(char server[SERVER_BYTES], const char *alias, uint32_t target)
{
    const size_t used = strlen(server);
    const int more = snprintf(server + used, SERVER_BYTES - used, "%s%.*s:%" PRIu32, used ? " " : "", ALIAS_BYTES - 1,
                              alias, target);
    return (size_t)more < SERVER_BYTES - used;
}

void beegfs_layout(int (*ask)(int file, unsigned long request, void *answer), int file, struct file_layout *layout)
{
    struct beegfs_stripes stripes = {0};
    if (ask(file, _IOR('f', 25, struct beegfs_stripes), &stripes) != 0 || !stripes.targets || !stripes.chunk_bytes)
        return;
    layout->striping.parts = 1;
    layout->striping.stripes = stripes.targets;
    layout->striping.stripe_bytes = stripes.chunk_bytes;
    for (uint32_t i = 0; i < stripes.targets; i++) {
        struct beegfs_target target = {.index = i};
        const bool known = ask(file, _IOR('f', 26, struct beegfs_target), &target) == 0 &&
                           add_server(layout->server, target.alias, target.first ? target.first : target.target) &&
                           (!target.second || add_server(layout->server, target.second_alias, target.second));
        if (!known) {
            layout->server[0] = '\0';
            return;
        }
    }
}

static int ask_kernel(int file, unsigned long request, void *answer)
{
    return ioctl(file, request, answer);
}

/* --- a file ------------------------------------------------------------------------------------------------------- */

static void ask_beegfs(const char *path, struct file_layout *layout)
{
    struct statfs system;
    const int file = statfs(path, &system) == 0 && system.f_type == BEEGFS ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    beegfs_layout(ask_kernel, file, layout);
    close(file);
}

void layout_of_file(const char *path, struct file_layout *layout)
{
    char info[1 << 16];
    struct stat status;
    *layout = (struct file_layout){0};
    layout->striping.preferred_bytes = stat(path, &status) == 0 ? status.st_blksize : 0;
    ssize_t bytes = getxattr(path, "glusterfs.pathinfo", info, sizeof info - 1);
    info[bytes > 0 ? bytes : 0] = '\0';
    bricks_of(info, layout->server);
    if (bytes > 0)
        return;
    bytes = getxattr(path, "lustre.lov", info, sizeof info);
    if (bytes > 0) {
        struct mount mount;
        char name[FILE_SYSTEM_NAME];
        find_mount("/proc/self/mounts", path, &mount);
        name_of_lustre(mount.source, name);
        lustre_layout((const unsigned char *)info, (size_t)bytes, name, layout);
    } else {
        ask_beegfs(path, layout);
    }
}

/* --- all processes ------------------------------------------------------------------------------------------------ */

static int place_of(json_t *servers, const char *server)
{
    size_t place = 0;
    while (place < json_array_size(servers) && strcmp(json_string_value(json_array_get(servers, place)), server) != 0)
        place++;
    if (place == json_array_size(servers))
        json_array_append_new(servers, text_json(server));
    return (int)place;
}

json_t *layout_json(const struct run *run, MPI_Comm comm, const char server[SERVER_BYTES])
{
    int known = server[0] != '\0' && strcmp(process_resolution(run), "process") == 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, comm));
    if (!known)
        return NULL;
    char (*all)[SERVER_BYTES] = gather(comm, server, SERVER_BYTES);
    if (!all)
        return NULL;
    const int ranks = size_of(comm);
    json_t *servers = json_array(), *files = json_array();
    for (int place = 0; place < ranks; place++)
        json_array_append_new(files, json_integer(place_of(servers, all[place])));
    free(all);
    return OBJECT(field_json("servers", servers), field_json("files", files));
}

/* Appends the first of `count` layouts that is like the one at `place`, if that is itself. */
static void append_new(json_t *list, const struct striping all[], int place, json_t *server)
{
    const struct striping *one = &all[place];
    bool known = one->preferred_bytes == 0;
    for (int before = 0; before < place && !known; before++)
        known = memcmp(&all[before], one, sizeof *one) == 0;
    if (known)
        json_decref(server);
    else
        json_array_append_new(
            list, OBJECT(field_int_or_null("preferred_bytes", one->preferred_bytes > 0, one->preferred_bytes),
                         field_int_or_null("parts", one->parts > 0, one->parts),
                         field_int_or_null("stripes", one->stripes > 0, one->stripes),
                         field_int_or_null("stripe_bytes", one->stripe_bytes > 0, one->stripe_bytes),
                         field_json("pool", text_or_null(one->pool)), field_json("server", server)));
}

json_t *striping_json(MPI_Comm comm, const struct file_layout *mine, bool shared)
{
    struct striping *all = shared ? NULL : gather(comm, &mine->striping, sizeof *all);
    json_t *list = rank_in(comm) == 0 ? json_array() : NULL;
    if (shared && list)
        append_new(list, &mine->striping, 0, text_or_null(mine->server));
    for (int place = 0; all && place < size_of(comm); place++)
        append_new(list, all, place, json_null());
    free(all);
    return list;
}
