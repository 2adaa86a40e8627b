/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h: how the keys of a workload become cases. */
#include <inttypes.h>

#include "access.h"
#include "host.h"

static const struct method *method_of(const struct method *const *tables, const char *name)
{
    const struct method *method = NULL;
    for (; *tables && !method; tables++)
        method = find_method(*tables, name);
    return method;
}

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

/* The read share matters only in mixed patterns; others get one case. */
static void add_shares(struct priomark *run, struct priomark_case *planned, const struct method *const *tables,
                       int64_t unit_blocks)
{
    const struct pattern *pattern = find_pattern(planned->pattern);
    for (int s = 0; s < (pattern->mixed ? priomark_count(run, "read_write") : 1); s++)
        for (int m = 0; m < priomark_count(run, "methods"); m++) {
            const struct method *method = method_of(tables, priomark_text(run, "methods", m));
            planned->method = method->name;
            planned->direct = method->direct;
            planned->read_share = pattern->mixed ? priomark_share(run, "read_write", s) : -1;
            refuse_impossible_blocks(run, planned, unit_blocks);
            priomark_add(run, planned);
        }
}

void add_cases(struct priomark *run, const struct priomark_case *sample, const struct method *const *tables,
               int64_t unit_blocks)
{
    struct priomark_case planned = *sample;
    for (int size = 0; size < priomark_count(run, "process_size"); size++) {
        planned.process_bytes = priomark_number(run, "process_size", size);
        planned.space_bytes = sample->target == PRIOMARK_ON_DEVICE ? 0 : planned.process_bytes;
        for (int block = 0; block < priomark_count(run, "block_size"); block++) {
            planned.block_bytes = priomark_number(run, "block_size", block);
            for (int p = 0; p < priomark_count(run, "patterns"); p++) {
                planned.pattern = find_pattern(priomark_text(run, "patterns", p))->name;
                add_shares(run, &planned, tables, unit_blocks);
            }
        }
        run->planned[run->cases - 1].what.number = LAST_OF_FILE;
    }
}
