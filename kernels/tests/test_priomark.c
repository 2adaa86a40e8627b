/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of priomark that require no file: the bins of latencies, the order of requests, and values of a workload.
 */
#include <inttypes.h>
#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "latency.h"
#include "order.h"
#include "values.h"

static void bins_follow_each_other_and_are_narrow(void)
{
    for (int bin = 0; bin + 1 < LATENCY_BINS; bin++) {
        const uint64_t start = latency_bin_start(bin), end = latency_bin_start(bin + 1);
        CHECK(end > start, "bin %d from %" PRIu64 " to %" PRIu64, bin, start, end);
        CHECK(latency_bin(start) == bin && latency_bin(end - 1) == bin, "bin %d", bin);
        const double half = (double)(end - start) / 2, middle = (double)start + half;
        CHECK(start < 32 || half / middle <= latency_relative_error, "bin %d: %g", bin, half / middle);
    }
    CHECK(latency_bin(UINT64_MAX) == LATENCY_BINS - 1, "%d", latency_bin(UINT64_MAX));
    CHECK(latency_bin_start(0) == 0, "%" PRIu64, latency_bin_start(0));
}

static void latencies_are_summed_up(void)
{
    struct latency *latency = malloc(sizeof *latency);
    latency_clear(latency);
    for (int i = 1; i <= 1000; i++)
        latency_add(latency, i * 1e-6);
    CHECK(latency->calls == 1000 && fabs(latency->sum_seconds - 0.5005) < 1e-12, "%g", latency->sum_seconds);
    CHECK(latency->shortest_seconds == 1e-6 && latency->longest_seconds == 1000 * 1e-6, "%g", latency->longest_seconds);
    uint64_t below = 0;
    int bin = 0;
    for (; below < 500; bin++)
        below += latency->bin_calls[bin];
    const double median = 1e-9 * (double)latency_bin_start(bin);
    CHECK(fabs(median / 500e-6 - 1) < 2 * latency_relative_error, "%g", median);
    free(latency);
}

static struct priomark host_of(struct run *run, struct workload *workload)
{
    return (struct priomark){.run = run, .workload = workload, .number = 1, .repetition = 1};
}

/* Counts the requests of an order, and returns whether each block occurs once. */
static bool goes_through(struct priomark *host, const struct priomark_case *now, int64_t *reads, bool *ascending)
{
    const int64_t blocks = now->process_bytes / now->block_bytes;
    bool *seen = calloc((size_t)blocks, sizeof *seen), once = true;
    struct order order = order_start(host, now);
    int64_t block, last = -1, count = 0;
    enum priomark_operation operation;
    *reads = 0;
    *ascending = true;
    while (order_next(&order, &block, &operation)) {
        const bool exists = block >= 0 && block < blocks;
        once = once && exists && !seen[block];
        if (exists)
            seen[block] = true;
        *reads += operation == PRIOMARK_READ;
        *ascending = *ascending && block == last + 1;
        last = block;
        count++;
    }
    free(seen);
    return once && count == blocks;
}

static void orders_are_exact_in_count_and_share(void)
{
    struct run run = {.ranks = 1};
    struct workload workload = {.seed = 5};
    struct priomark host = host_of(&run, &workload);
    static const int64_t counts[] = {1, 2, 3, 7, 64, 1000, 65537};
    static const double shares[] = {0, 1.0 / 3, 0.5, 0.95, 1};
    for (const struct pattern *pattern = patterns; pattern->name; pattern++)
        for (int c = 0; c < 7; c++)
            for (int s = 0; s < 5; s++) {
                const struct priomark_case now = {.pattern = pattern->name,
                                                  .process_bytes = 512 * counts[c],
                                                  .block_bytes = 512,
                                                  .read_share = shares[s]};
                const double share = pattern->mixed ? shares[s] : strcmp(pattern->name, "write") == 0 ? 0 : 1;
                int64_t reads;
                bool ascending;
                CHECK(goes_through(&host, &now, &reads, &ascending), "%s, %" PRId64 " blocks", pattern->name,
                      counts[c]);
                CHECK(reads == llround(share * (double)counts[c]), "%s: %" PRId64 " of %" PRId64, pattern->name, reads,
                      counts[c]);
                CHECK(counts[c] < 7 || ascending == (strcmp(pattern->name, "write") == 0 ||
                                                     strcmp(pattern->name, "read-write") == 0),
                      "%s", pattern->name);
            }
}

/* Reads are spread over the order: each tenth of a long one has about its share. */
static void reads_are_spread_evenly(void)
{
    struct run run = {.ranks = 1};
    struct workload workload = {.seed = 5};
    struct priomark host = host_of(&run, &workload);
    const struct priomark_case now = {
        .pattern = "read-write", .process_bytes = 100000, .block_bytes = 1, .read_share = 0.25};
    struct order order = order_start(&host, &now);
    int64_t block, reads[10] = {0};
    enum priomark_operation operation;
    while (order_next(&order, &block, &operation))
        reads[block / 10000] += operation == PRIOMARK_READ;
    for (int tenth = 0; tenth < 10; tenth++) /* 2500 with a standard deviation of 43 */
        CHECK(llabs(reads[tenth] - 2500) < 6 * 43, "tenth %d: %" PRId64, tenth, reads[tenth]);
}

static void ranges_have_the_sizes_of_their_definition(void)
{
    static const struct priomark_key key = {"size", PRIOMARK_SIZES, NULL, "", 1, INT64_C(1) << 50, NULL};
    static const struct {
        const char *text;
        int count;
        int64_t last;
    } ranges[] = {{"{ from = \"4KiB\"; to = \"64KiB\"; factor = 2; }", 5, 65536},
                  {"{ from = \"4KiB\"; to = \"63KiB\"; factor = 2; }", 4, 32768},
                  {"{ from = \"4KiB\"; to = \"4KiB\"; factor = 1000; }", 1, 4096},
                  {"{ from = \"1KiB\"; to = \"10KiB\"; step = \"3KiB\"; }", 4, 10240},
                  {"{ from = \"1TiB\"; to = \"1024TiB\"; factor = 1048576; }", 1, INT64_C(1) << 40}};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        struct priomark_key row = key;
        struct values values = {0};
        row.standard = ranges[r].text;
        values_standard(&row, &values, "standard.cfg");
        CHECK(values.count == ranges[r].count && values.number[values.count - 1] == ranges[r].last, "%s: %d",
              ranges[r].text, values.count);
        values_free(&values);
    }
}

int main(void)
{
    bins_follow_each_other_and_are_narrow();
    latencies_are_summed_up();
    orders_are_exact_in_count_and_share();
    reads_are_spread_evenly();
    ranges_have_the_sizes_of_their_definition();
    return checks_status();
}
