/* SPDX-License-Identifier: Apache-2.0 */
/* priomark: the I/O performance of a workload (Krietemeyer, Versick and Tavangarian). The workload states which
 * sub-benchmarks run, and how. This kernel measures and writes a log; postprocess computes averages, ACL and ABL. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "filesystem.h"
#include "hang.h"
#include "measure.h"
#include "memory.h"
#include "memory_fill.h"
#include "process_times.h"
#include "read_shift.h"
#include "scratch.h"
#include "units.h"

struct choices {
    const char *log, *workload, *directory, *only, *interfaces;
    int64_t cache_size, fill_memory;
    bool dry_run, keep, read_shift;
};

static const char *const summary_text =
    "priomark measures the I/O performance of a workload: a file that states what is accessed, how, and in which\n"
    "sizes. Sub-benchmarks access files or devices with all processes at the same time.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES priomark [OPTION]...\n"
    "Example:  mpirun -n 4 priomark --workload oltp --directory /scratch && coffeecup score priomark.jsonl";

static json_t *benchmarks_json(const struct workload *workload)
{
    json_t *list = json_array();
    for (int i = 0; i < workload->groups; i++) {
        const struct sub_benchmark *benchmark = workload->group[i].benchmark;
        if (begins_sub_benchmark(workload, i))
            json_array_append_new(
                list, OBJECT(field_text("name", benchmark->name), field_text("summary", benchmark->summary)));
    }
    return list;
}

static json_t *plan_json(const struct priomark *host, int64_t node_memory_bytes, const struct choices *choices)
{
    const struct workload *workload = host->workload;
    return OBJECT(
        field_text("workload", workload->name), field_text("workload_text", workload->text),
        field_text("build", HAVE_MPI_IO ? "full"
                            : HAVE_MPI  ? "mpi"
                                        : "serial"),
        field_int("seed", workload->seed), field_int("repetitions", workload->repetitions),
        field_bool("check", workload->check), field_bool("evict", workload->evict),
        field_text("read_shift", host->shift ? read_shift_name(host->run->machine.nodes) : NULL),
        field_int_or_null("fill_memory_percent", choices->fill_memory, choices->fill_memory),
        field_int("node_memory_bytes", node_memory_bytes),
        field_int_or_null("cache_bytes", choices->cache_size, choices->cache_size),
        field_real("latency_relative_error", latency_relative_error),
        field_text("process_times", process_resolution(host->run)), field_json("benchmarks", benchmarks_json(workload)),
        field_json("interfaces", interfaces_json(&workload->interfaces)), field_json("cases", plan_cases_json(host)));
}

static int64_t least_node_memory(const struct run *run)
{
    int64_t least = run->machine.node_memory_bytes;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return least;
}

static void print_case(const struct planned *planned)
{
    const struct priomark_case *what = &planned->what;
    printf("%-12s %-18s %-22s %10.4g MiB %10.4g KiB", planned->group->benchmark->name, what->pattern, what->method,
           (double)what->process_bytes / MIB, (double)what->block_bytes / KIB);
    if (what->read_share >= 0)
        printf(" %5.1f %%", 100 * what->read_share);
    else
        printf("        ");
}

static void print_dry_run(const struct priomark *host, int64_t space_bytes, const struct filesystem *filesystem)
{
    for (int i = 0; i < host->cases; i++) {
        print_case(&host->planned[i]);
        printf("\n");
    }
    printf("%d cases in '%s', each measured %" PRId64
           " times. Columns: data and block size of a process, share of reads.\nUp to %.3g GByte of space at a "
           "time; %.3g GByte are free in '%s' (%s).\n",
           host->cases, host->workload->path, host->workload->repetitions, 1e-9 * (double)space_bytes,
           1e-9 * (double)filesystem->free_bytes, filesystem->directory, filesystem->mount.type);
}

static void print_table(const struct priomark *host, const struct result *results, const char *log)
{
    for (int i = 0; i < host->cases; i++) {
        print_case(&host->planned[i]);
        if (results[i].operations > 0)
            printf(" %18s %10.0f operations/s\n", "", results[i].operations / results[i].seconds);
        else
            printf(" %10.1f MByte/s %10.0f requests/s\n", 1e-6 * results[i].bytes / results[i].seconds,
                   results[i].calls / results[i].seconds);
    }
    printf("Columns: data and block size of a process, share of reads; bandwidth and rate of all processes.\n");
    run_print_score_command(log);
}

static void shift_reads(struct priomark *host)
{
    const struct machine *machine = &host->run->machine;
    host->shift = read_shift(MPI_COMM_WORLD, machine->leader, machine->nodes);
    if (!host->shift)
        refuse("--read-shift: %s; use more processes, and place them evenly on the nodes",
               why_no_read_shift(machine->nodes));
    host->readers = read_communicator(MPI_COMM_WORLD, machine->leader, host->shift);
}

/* The largest buffer of a process. */
static int64_t buffer_bytes(const struct priomark *host)
{
    int64_t most = 0;
    for (int i = 0; i < host->cases; i++)
        if (host->planned[i].what.block_bytes > most)
            most = host->planned[i].what.block_bytes;
    return 2 * most + MIB; /* one to fill files, one for requests */
}

static int run_priomark(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, NULL);

    struct workload workload = workload_read(choices->workload, choices->only, choices->interfaces);
    struct priomark *host = allocate(1, sizeof *host);
    host->run = &run;
    host->workload = &workload;
    host->keep = choices->keep;
    host->readers = MPI_COMM_WORLD;
    if (choices->read_shift)
        shift_reads(host);
    plan_cases(host);
    memory_fill_check(&run.machine, choices->fill_memory, buffer_bytes(host));
    const struct filesystem filesystem = filesystem_describe(choices->directory);
    const int64_t space_bytes = plan_space_bytes(host), node_memory_bytes = least_node_memory(&run);
    struct result *results = allocate((size_t)host->cases, sizeof *results);
    if (!choices->dry_run) {
        filesystem_check_space(&filesystem, run.machine.ranks_on_node, run.ranks, space_bytes,
                               "choose a smaller process_size, fewer files or another --directory");
        run_open_log(&run, choices->log, argv, &filesystem,
                     run.rank == 0 ? plan_json(host, node_memory_bytes, choices) : NULL);
        scratch_create(choices->directory, program->name, choices->keep);
        struct memory_fill fill = memory_fill_begin(&run.machine, choices->fill_memory);
        measure(host, results);
        memory_fill_end(&run, &fill);
        scratch_remove();
    } else if (run.rank == 0) {
        print_dry_run(host, space_bytes, &filesystem);
    }
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE && !choices->dry_run)
        print_table(host, results, choices->log);
    free(results);
    free(host->planned);
    free(host);
    workload_free(&workload);
    return status;
}

int main(int argc, char **argv)
{
    struct choices choices = {.log = "priomark.jsonl", .workload = "default", .directory = "."};
    const struct option_row rows[] = {
        OPTION_LOG(&choices.log),
        TEXT_OPTION(
            "workload", &choices.workload, "NAME|FILE",
            "a workload file, or the name of an included workload (default, short, figure_3, figure_4_oltp,\n"
            "        figure_4_webserver, figure_5, figure_6, oltp, webserver, checkpoint, analysis, random_4kib,\n"
            "        metadata)"),
        OPTION_DIRECTORY(&choices.directory),
        TEXT_OPTION("only", &choices.only, "NAME,...", "run only these sub-benchmarks of the workload"),
        TEXT_OPTION("interfaces", &choices.interfaces, "DIRECTORY",
                    "directory with priomark_NAME.so for each method NAME of the workload that is to be loaded"),
        SIZE_OPTION("cache-size", &choices.cache_size, 1, INT64_MAX,
                    "size of the file system's cache; default: the nodes' memory"),
        OPTION_READ_SHIFT(&choices.read_shift),
        OPTION_FILL_MEMORY(&choices.fill_memory, "during the run"),
        FLAG_OPTION("dry-run", &choices.dry_run, "print what would be measured, and exit"),
        OPTION_FILES_HANG_AFTER,
        OPTION_IDLE_POWER,
        OPTION_KEEP(&choices.keep),
        {0}};
    const struct program program = {"priomark", summary_text, usage_text, rows};
    return run_priomark(&program, &choices, argc, argv);
}
