/* SPDX-License-Identifier: Apache-2.0 */
/* The bricks of a file by GlusterFS's attribute: as GlusterFS 10.3 answered, and as its documentation has it. The
 * stripes and targets by Lustre's attribute and by the answers of BeeGFS's client: bytes made up here by the published
 * structures, because there is neither to ask. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "layout.h"
#include "random.h"

enum { V1 = 0x0bd10bd0, V3 = 0x0bd30bd0, COMP_V1 = 0x0bd60bd0, RAID0 = 1, MDT = 0x100, INIT = 0x10, CHANGES = 200000 };

static void check_bricks(const char *pathinfo, const char *wanted)
{
    char server[SERVER_BYTES] = "before";
    bricks_of(pathinfo, server);
    CHECK(strcmp(server, wanted) == 0, "'%s': '%s'", pathinfo, server);
}

/* --- Lustre ------------------------------------------------------------------------------------------------------- */

struct attribute {
    size_t bytes;
    unsigned char byte[1 << 13];
};

static void append(struct attribute *attribute, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        attribute->byte[attribute->bytes++] = (unsigned char)(value >> 8 * i);
}

/* A plain layout with these targets; returns its size. */
static size_t append_plain(struct attribute *attribute, uint32_t magic, uint32_t pattern, int stripes,
                           const uint32_t targets[])
{
    const size_t before = attribute->bytes;
    append(attribute, magic, 4);
    append(attribute, pattern, 4);
    append(attribute, 0x200000401, 8); /* the file's identity */
    append(attribute, 7, 8);
    append(attribute, 1 << 20, 4);
    append(attribute, (uint64_t)stripes, 2);
    append(attribute, 6, 2);
    for (int i = 0; magic == V3 && i < 16; i++)
        append(attribute, (unsigned char)"flash"[i < 5 ? i : 5], 1);
    for (int i = 0; i < stripes; i++) {
        append(attribute, 0x1234567890, 8); /* the object's identity */
        append(attribute, 0x9876, 8);
        append(attribute, 3, 4);
        append(attribute, targets[i], 4);
    }
    return attribute->bytes - before;
}

struct part {
    uint32_t flags, magic, pattern;
    int stripes;
    uint32_t targets[4];
};

static struct attribute composite(int parts, const struct part part[])
{
    struct attribute blobs = {0}, made = {0};
    append(&made, COMP_V1, 4);
    append(&made, 0, 4); /* the size, below */
    append(&made, 5, 4);
    append(&made, 0, 2);
    append(&made, (uint64_t)parts, 2);
    append(&made, 0, 8);
    append(&made, 0, 8);
    for (int i = 0; i < parts; i++) {
        const size_t begin = blobs.bytes;
        const size_t bytes = append_plain(&blobs, part[i].magic, part[i].pattern, part[i].stripes, part[i].targets);
        append(&made, (uint64_t)i + 1, 4);
        append(&made, part[i].flags, 4);
        append(&made, (uint64_t)i << 30, 8);
        append(&made, (uint64_t)(i + 1) << 30, 8);
        append(&made, 32 + 48 * (size_t)parts + begin, 4);
        append(&made, bytes, 4);
        append(&made, 0, 4);
        append(&made, 0, 8);
        append(&made, 0, 4);
    }
    memcpy(made.byte + made.bytes, blobs.byte, blobs.bytes);
    made.bytes += blobs.bytes;
    made.byte[4] = (unsigned char)(made.bytes & 0xff);
    made.byte[5] = (unsigned char)(made.bytes >> 8);
    return made;
}

static struct attribute plain(uint32_t magic, uint32_t pattern, int stripes, const uint32_t targets[])
{
    struct attribute made = {0};
    append_plain(&made, magic, pattern, stripes, targets);
    return made;
}

/* In memory of exactly its size, so that a sanitizer sees every access beyond it. */
static struct striping parse(const struct attribute *attribute, size_t bytes, const char *name,
                             char server[SERVER_BYTES])
{
    unsigned char *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, attribute->byte, bytes);
    struct file_layout layout;
    memset(&layout, 'x', sizeof layout);
    layout.striping = (struct striping){.preferred_bytes = 4096};
    lustre_layout(copy, bytes, name, &layout);
    memcpy(server, layout.server, SERVER_BYTES);
    free(copy);
    return layout.striping;
}

static void check_striping(struct attribute attribute, int64_t parts, int64_t stripes, int64_t bytes, const char *pool)
{
    char server[SERVER_BYTES];
    const struct striping found = parse(&attribute, attribute.bytes, "", server);
    CHECK(found.parts == parts && found.stripes == stripes && found.stripe_bytes == bytes,
          "%d parts, %d stripes of %d bytes", (int)found.parts, (int)found.stripes, (int)found.stripe_bytes);
    CHECK(strcmp(found.pool, pool) == 0 && found.preferred_bytes == 4096, "pool '%s'", found.pool);
}

static void check_targets(struct attribute attribute, const char *name, const char *wanted)
{
    char server[SERVER_BYTES];
    parse(&attribute, attribute.bytes, name, server);
    CHECK(strcmp(server, wanted) == 0, "wanted '%s': '%s'", wanted, server);
    for (size_t bytes = 0; bytes < attribute.bytes && wanted[0]; bytes++) {
        parse(&attribute, bytes, name, server);
        CHECK(!server[0], "'%s' from %zu of %zu bytes", server, bytes, attribute.bytes);
    }
}

static void check_plain(void)
{
    const uint32_t targets[] = {10, 3, 0xffff, 10};
    uint32_t many[64];
    char wanted[SERVER_BYTES] = "";
    check_targets(plain(V1, RAID0, 1, targets), "", "OST000a");
    check_targets(plain(V3, RAID0, 1, targets), "scratch", "scratch-OST000a");
    check_targets(plain(V1, RAID0, 3, targets), "", "OST0003 OST000a OSTffff");
    check_targets(plain(V3, RAID0 | 0x200, 4, targets), "s", "s-OST0003 s-OST000a s-OSTffff"); /* one target twice */
    check_targets(plain(V1, RAID0, 0, targets), "", "");
    check_targets(plain(V1, MDT, 0, targets), "", "");
    check_targets(plain(V1, RAID0 | 0x80000000, 1, targets), "", ""); /* released: the data is in an archive */
    check_targets(plain(V1, RAID0 | 0x40000000, 1, targets), "", ""); /* a stripe was lost */
    check_targets(plain(0x0bd50bd0, RAID0, 1, targets), "", "");
    check_targets(plain(V1, RAID0, 1, (const uint32_t[]){0x10000}), "", "");
    check_targets(plain(V1, RAID0, 1, (const uint32_t[]){UINT32_MAX}), "", "");
    for (uint32_t i = 0; i < 64; i++) {
        many[i] = i;
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%sOST%04x", i ? " " : "", i);
    }
    check_targets(plain(V1, RAID0, 64, many), "", wanted); /* 511 characters, the most that fit */
    check_targets(plain(V1, RAID0, 64, many), "a", "");
    uint32_t more[65] = {64};
    memcpy(more + 1, many, sizeof many);
    check_targets(plain(V1, RAID0, 65, more), "", "");
    check_striping(plain(V1, RAID0, 65, more), 1, 65, 1 << 20, ""); /* more than can be named */
    check_striping(plain(V3, RAID0 | 0x200, 4, targets), 1, 4, 1 << 20, "flash");
    check_striping(plain(V1, MDT, 0, targets), 0, 0, 0, "");
    check_striping(plain(V1, RAID0 | 0x80000000, 1, targets), 0, 0, 0, "");
    struct attribute full = plain(V3, RAID0, 1, targets);
    memcpy(full.byte + 32, "sixteen_letters_", 16);
    check_striping(full, 1, 1, 1 << 20, "sixteen_letters");
    full.byte[26] = 0x40; /* 4 MiB */
    check_striping(full, 1, 1, 4 << 20, "sixteen_letters");
}

static void check_composite(void)
{
    const struct part grown[] = {{INIT, V1, RAID0, 1, {5}}, {INIT, V3, RAID0, 2, {7, 2}}, {0, V1, RAID0, 0, {0}}},
                      on_metadata[] = {{INIT, V1, MDT, 0, {0}}, {INIT, V1, RAID0, 1, {9}}},
                      mirrored[] = {{INIT | 1, V1, RAID0, 1, {1}}, {INIT, V1, RAID0, 1, {2}}},
                      only_planned[] = {{0, V1, RAID0, 1, {1}}}, foreign[] = {{INIT, 0x0bd70bd0, RAID0, 1, {1}}};
    check_targets(composite(3, grown), "", "OST0002 OST0005 OST0007");
    check_striping(composite(3, grown), 2, 2, 1 << 20, "flash");
    check_striping(composite(2, on_metadata), 1, 1, 1 << 20, "");
    check_striping(composite(2, mirrored), 1, 1, 1 << 20, "");
    check_targets(composite(2, on_metadata), "fs", "fs-OST0009");
    check_targets(composite(2, mirrored), "", "OST0002"); /* the other mirror is stale */
    check_targets(composite(1, only_planned), "", "");
    check_targets(composite(1, foreign), "", "");
    check_targets(composite(0, NULL), "", "");
    struct attribute wrong = composite(3, grown);
    wrong.bytes++;
    check_targets(wrong, "", "");
    wrong = composite(1, (const struct part[]){{0, V1, RAID0, 0, {0}}});
    wrong.byte[14] = 2; /* the second entry would end behind the attribute */
    wrong.bytes = wrong.byte[4] = 32 + 48 + 16;
    check_targets(wrong, "", "");
    wrong = composite(1, (const struct part[]){{INIT, V1, RAID0, 1, {V1}}});
    wrong.byte[32 + 24] = (unsigned char)(wrong.bytes - 4); /* as would this part, which begins with its own target */
    check_targets(wrong, "", "");
    wrong.byte[32 + 24] = (unsigned char)(wrong.bytes + 4);
    check_targets(wrong, "", "");
}

/* Anything may be in an attribute: what is read from it are ascending numbers that its bytes contain, or nothing. */
static void check_changed(struct attribute sound, uint64_t seed)
{
    for (uint64_t change = 0; change < CHANGES; change++) {
        struct attribute changed = sound;
        char server[SERVER_BYTES];
        for (uint64_t i = 0; i <= random_number(seed, 4 * change) % 3; i++) {
            const uint64_t what = random_number(seed + i + 1, 4 * change + 1);
            static const unsigned char often[] = {0, 1, 0xff, 0xd0, 0x0b, 0x7f, 0x80, 0x10};
            changed.byte[what % sound.bytes] = what >> 40 & 1 ? often[what >> 41 & 7] : (unsigned char)(what >> 48);
        }
        changed.bytes -=
            random_number(seed, 4 * change + 2) % 4 ? 0 : random_number(seed, 4 * change + 3) % sound.bytes;
        const struct striping found = parse(&changed, changed.bytes, "", server);
        CHECK(found.parts * 32 <= (int64_t)changed.bytes && found.stripes * 24 <= (int64_t)changed.bytes &&
                  memchr(found.pool, '\0', POOL_BYTES) && (found.stripes > 0) == (found.parts > 0),
              "change %d", (int)change);
        CHECK(memchr(server, '\0', SERVER_BYTES) != NULL, "change %d: no end", (int)change);
        long before = -1;
        for (const char *at = server; *at; at += at[7] ? 8 : 7) {
            const long number = strtol(at + 3, NULL, 16);
            const unsigned char bytes[] = {(unsigned char)(number & 0xff), (unsigned char)(number >> 8), 0, 0};
            CHECK(strncmp(at, "OST", 3) == 0 && (at[7] == ' ' || !at[7]) && number > before, "'%s'", server);
            CHECK(memmem(changed.byte, changed.bytes, bytes, 4) != NULL, "'%s' is not in the attribute", server);
            before = number;
        }
    }
}

/* --- BeeGFS ------------------------------------------------------------------------------------------------------- */

/* What its client answers, byte by byte: 4 bytes of each number, or 2 of the number of targets. */
static struct {
    uint32_t chunk_bytes;
    uint16_t targets;
    bool mirrored;
    uint32_t broken; /* the index of a target that is not known */
    const char *alias;
} beegfs;

static void put(unsigned char *answer, int place, uint32_t value)
{
    memcpy(answer + place, &value, sizeof value);
}

static int answer_of_beegfs(int file, unsigned long request, void *answer)
{
    uint32_t index;
    CHECK(file == 7, "file %d", file);
    if (request == 0x800c6619) { /* read, 12 bytes, 'f', 25 */
        put(answer, 0, beegfs.mirrored ? 3 : 1);
        put(answer, 4, beegfs.chunk_bytes);
        memcpy((char *)answer + 8, &beegfs.targets, sizeof beegfs.targets);
        return 0;
    }
    CHECK(request == 0x8218661a, "request %lx", request); /* read, 536 bytes, 'f', 26 */
    memcpy(&index, answer, sizeof index);
    if (index == beegfs.broken)
        return -1;
    put(answer, 4, 100 + index); /* the target, or the group of the mirrors */
    put(answer, 8, beegfs.mirrored ? 200 + index : 0);
    put(answer, 12, beegfs.mirrored ? 300 + index : 0);
    snprintf((char *)answer + 24, 256, "%s%d", beegfs.alias, (int)index);
    snprintf((char *)answer + 280, 256, "%s", beegfs.mirrored ? "other" : "");
    return 0;
}

static void check_answers(int64_t stripes, int64_t bytes, const char *server)
{
    struct file_layout layout = {.server = ""};
    beegfs_layout(answer_of_beegfs, 7, &layout);
    CHECK(layout.striping.stripes == stripes && layout.striping.stripe_bytes == bytes &&
              layout.striping.parts == (stripes > 0),
          "%d stripes of %d bytes", (int)layout.striping.stripes, (int)layout.striping.stripe_bytes);
    CHECK(strcmp(layout.server, server) == 0, "'%s'", layout.server);
}

static void check_beegfs(void)
{
    beegfs.chunk_bytes = 512 << 10;
    beegfs.alias = "node";
    beegfs.targets = 2;
    beegfs.broken = 9;
    check_answers(2, 512 << 10, "node0:100 node1:101");
    beegfs.mirrored = true;
    check_answers(2, 512 << 10, "node0:200 other:300 node1:201 other:301");
    beegfs.mirrored = false;
    beegfs.broken = 1;
    check_answers(2, 512 << 10, "");
    beegfs.broken = 1 << 20;
    beegfs.targets = 1000; /* more than can be named */
    check_answers(1000, 512 << 10, "");
    beegfs.targets = 0;
    check_answers(0, 0, "");
}

static void check_name(const char *source, const char *wanted)
{
    char name[FILE_SYSTEM_NAME];
    name_of_lustre(source, name);
    CHECK(strcmp(name, wanted) == 0, "'%s': '%s'", source, name);
}

static void check_lustre(void)
{
    const struct part parts[] = {{INIT, V1, RAID0, 1, {5}}, {INIT, V3, RAID0, 4, {7, 2, 300, 65535}}};
    check_plain();
    check_composite();
    check_changed(plain(V1, RAID0, 2, (const uint32_t[]){1, 2}), 1);
    check_changed(composite(2, parts), 1000);
    check_name("10.0.0.1@tcp:/scratch", "scratch");
    check_name("10.0.0.1@o2ib,10.0.1.1@tcp:10.0.0.2@o2ib:/work/project", "work");
    check_name("mgs:/ninechars", "");
    check_name("mgs:/ninechar", "ninechar");
    check_name("/dev/sda1", "");
    check_name("mgs:/", "");
    check_name("", "");
}

int main(void)
{
    check_bricks("(<DISTRIBUTE:cup-dht> <POSIX(/data/brick1):vm:/data/brick1/dir/strip-000000>)", "vm:/data/brick1");
    check_bricks("((<DISTRIBUTE:vol-dht> (<REPLICATE:vol-replicate-0> <POSIX(/b/1):one.site:/b/1/file> "
                 "<POSIX(/b/2):two.site:/b/2/file>)))",
                 "one.site:/b/1 two.site:/b/2");
    check_bricks("", "");
    check_bricks("<POSIX(/b/1", "");
    check_bricks("<POSIX(/b/1):host", "");
    char folder[SERVER_BYTES], longest[2 * SERVER_BYTES];
    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    snprintf(longest, sizeof longest, "<POSIX(/%s):h:/x/y>", folder);
    check_bricks(longest, "");
    check_lustre();
    check_beegfs();
    return checks_status();
}
