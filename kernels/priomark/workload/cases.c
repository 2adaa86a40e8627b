/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h: how the keys of a workload become cases. */
#include <inttypes.h>
#include <string.h>

#include "access.h"
#include "host.h"

static const struct method *method_of(const struct method *const *tables, const char *name)
{
    const struct method *found = NULL;
    for (; *tables && !found; tables++)
        found = find_method(*tables, name);
    return found;
}

static void refuse_impossible_blocks(const struct priomark *run, const struct priomark_case *made, int64_t unit_blocks)
{
    if (made->block_bytes * unit_blocks > made->process_bytes)
        priomark_refuse(run, "block_size",
                        "%" PRId64 " block(s) of %" PRId64 " bytes are larger than the %" PRId64
                        " bytes of a process (process_size)",
                        unit_blocks, made->block_bytes, made->process_bytes);
    if (made->process_bytes % (made->block_bytes * unit_blocks) != 0)
        priomark_refuse(run, "block_size",
                        "the %" PRId64 " bytes of a process (process_size) are no multiple of %" PRId64
                        " block(s) of %" PRId64 " bytes",
                        made->process_bytes, unit_blocks, made->block_bytes);
    if (made->direct && made->block_bytes % DIRECT_ALIGNMENT != 0)
        priomark_refuse(run, "block_size", "%" PRId64 " bytes: direct I/O takes multiples of %d bytes only",
                        made->block_bytes, DIRECT_ALIGNMENT);
}

/* The read share matters in mixed patterns only: others come once. */
static void add_shares(struct priomark *run, struct priomark_case *made, const struct method *const *tables,
                       int64_t unit_blocks)
{
    const struct pattern *pattern = find_pattern(made->pattern);
    for (int s = 0; s < (pattern->mixed ? priomark_count(run, "read_write") : 1); s++)
        for (int m = 0; m < priomark_count(run, "methods"); m++) {
            const struct method *method = method_of(tables, priomark_text(run, "methods", m));
            made->method = method->name;
            made->direct = method->direct;
            made->read_share = pattern->mixed ? priomark_share(run, "read_write", s) : -1;
            refuse_impossible_blocks(run, made, unit_blocks);
            priomark_add(run, made);
        }
}

void add_cases(struct priomark *run, const struct priomark_case *sample, const struct method *const *tables,
               int64_t unit_blocks)
{
    struct priomark_case made = *sample;
    for (int size = 0; size < priomark_count(run, "process_size"); size++) {
        made.process_bytes = priomark_number(run, "process_size", size);
        made.space_bytes = sample->target == PRIOMARK_ON_DEVICE ? 0 : made.process_bytes;
        for (int block = 0; block < priomark_count(run, "block_size"); block++) {
            made.block_bytes = priomark_number(run, "block_size", block);
            for (int p = 0; p < priomark_count(run, "patterns"); p++) {
                made.pattern = find_pattern(priomark_text(run, "patterns", p))->name;
                add_shares(run, &made, tables, unit_blocks);
            }
        }
        run->planned[run->cases - 1].what.number = LAST_OF_FILE;
    }
}
