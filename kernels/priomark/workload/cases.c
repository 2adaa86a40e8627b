/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h: how the keys of a workload become cases. */
#include <inttypes.h>

#include "access.h"
#include "host.h"

static void refuse_impossible_blocks(const struct priomark *run, const struct priomark_case *planned,
                                     int64_t unit_blocks)
{
    if (planned->block_bytes * unit_blocks > planned->process_bytes)
        priomark_refuse(run, "block_size",
                        "%" PRId64 " block(s) of %" PRId64 " bytes are larger than the %" PRId64
                        " bytes of a process (process_size)",
                        unit_blocks, planned->block_bytes, planned->process_bytes);
    if (planned->process_bytes % (planned->block_bytes * unit_blocks) != 0)
        priomark_refuse(run, "block_size",
                        "the %" PRId64 " bytes of a process (process_size) are not a multiple of %" PRId64
                        " block(s) of %" PRId64 " bytes",
                        planned->process_bytes, unit_blocks, planned->block_bytes);
    if (planned->direct && planned->block_bytes % DIRECT_ALIGNMENT != 0)
        priomark_refuse(run, "block_size", "%" PRId64 " bytes: direct I/O requires a multiple of %d bytes",
                        planned->block_bytes, DIRECT_ALIGNMENT);
}

/* A file that only its interface can read exists beside that of other methods. */
static void add_method(struct priomark *run, struct priomark_case *planned, const char *name, int64_t unit_blocks)
{
    const struct priomark_interface *interface = interface_find(&run->workload->interfaces, name);
    planned->method = interface->name;
    planned->direct = interface->direct;
    const bool is_elsewhere = planned->target == PRIOMARK_ON_DEVICE || interface->objects;
    planned->space_bytes = is_elsewhere ? 0 : (interface->plain ? 1 : 2) * planned->process_bytes;
    if (interface->objects && !find_pattern(planned->pattern)->creates && planned->read_share >= 0 &&
        planned->read_share < 1)
        priomark_refuse(run, "read_write", "%s writes an object only as a whole, when it is created: choose \"1:0\"",
                        name);
    refuse_impossible_blocks(run, planned, unit_blocks);
    priomark_add(run, planned);
}

/* The read share matters only in mixed patterns; others get one case. */
static void add_shares(struct priomark *run, struct priomark_case *planned, int64_t unit_blocks)
{
    const struct pattern *pattern = find_pattern(planned->pattern);
    for (int s = 0; s < (pattern->mixed ? priomark_count(run, "read_write") : 1); s++)
        for (int m = 0; m < priomark_count(run, "methods"); m++) {
            planned->read_share = pattern->mixed ? priomark_share(run, "read_write", s) : -1;
            add_method(run, planned, priomark_text(run, "methods", m), unit_blocks);
        }
}

/* Methods that access the same file are those of plain interfaces. */
static void mark_last_of_file(struct priomark *run, int first)
{
    for (int i = run->cases - 1; i >= first; i--)
        if (interface_find(&run->workload->interfaces, run->planned[i].what.method)->plain) {
            run->planned[i].what.number = LAST_OF_FILE;
            return;
        }
}

void add_cases(struct priomark *run, const struct priomark_case *sample, int64_t unit_blocks)
{
    struct priomark_case planned = *sample;
    for (int size = 0; size < priomark_count(run, "process_size"); size++) {
        const int first = run->cases;
        planned.process_bytes = priomark_number(run, "process_size", size);
        for (int block = 0; block < priomark_count(run, "block_size"); block++) {
            planned.block_bytes = priomark_number(run, "block_size", block);
            for (int p = 0; p < priomark_count(run, "patterns"); p++) {
                planned.pattern = find_pattern(priomark_text(run, "patterns", p))->name;
                add_shares(run, &planned, unit_blocks);
            }
        }
        mark_last_of_file(run, first);
    }
}

void plan_files(struct priomark *run)
{
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_IN_DIRECTORY}, 1);
}
