/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of energy that begin again at 0 during a run, in made-up files. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "node_counters.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"

static const double due_seconds = 20;
static char root[] = "/tmp/coffeecup-counters-XXXXXX";

static void write_file(const char *name, long value)
{
    char path[256];
    snprintf(path, sizeof path, "%s" ZONE "/%s", root, name);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "%ld\n", value);
    fclose(file);
}

static void run_command(const char *words, const char *below)
{
    char command[256];
    snprintf(command, sizeof command, "%s %s%s", words, root, below);
    CHECK(system(command) == 0, "%s", command);
}

static long times_again(const struct node_counters *counters)
{
    return (long)json_integer_value(json_object_get(counters->again, "rapl_energy\t0\t1000"));
}

static void a_counter_that_begins_again_is_seen_each_time_it_is_read(void)
{
    write_file("max_energy_range_uj", 1000);
    write_file("energy_uj", 900);
    struct node_counters counters = node_counters_begin(true);
    write_file("energy_uj", 50);
    node_counters_follow(&counters);
    CHECK(times_again(&counters) == 0 && counters.longest_seconds == 0, "read before it was due");
    static const struct {
        long value, times;
    } readings[] = {{50, 1}, {60, 1}, {60, 1}, {59, 2}, {1000, 2}, {0, 3}};
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        write_file("energy_uj", readings[i].value);
        counters.last_seconds -= due_seconds;
        node_counters_follow(&counters);
        CHECK(times_again(&counters) == readings[i].times, "reading %zu: %ld times", i, times_again(&counters));
    }
    CHECK(counters.longest_seconds >= due_seconds && counters.longest_seconds < due_seconds + 15, "%g s",
          counters.longest_seconds);
    json_decref(counters.start);
    json_decref(counters.last);
    json_decref(counters.again);
}

static void another_rank_reads_nothing(void)
{
    struct node_counters counters = node_counters_begin(false);
    counters.last_seconds -= due_seconds;
    node_counters_follow(&counters);
    CHECK(!counters.start && !counters.last && !counters.again, "a rank that is not the first of its node");
}

int main(void)
{
    if (!mkdtemp(root) || setenv(COUNTERS_ROOT, root, 1) != 0)
        return EXIT_FAILURE;
    run_command("mkdir -p", ZONE);
    a_counter_that_begins_again_is_seen_each_time_it_is_read();
    another_rank_reads_nothing();
    run_command("rm -r", "");
    return checks_status();
}
