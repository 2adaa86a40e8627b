/* SPDX-License-Identifier: Apache-2.0 */
/* b_eff_io: the effective MPI-I/O bandwidth (Rabenseifner and Koniges, sections 2.2, 3.2, 5 and 6). This kernel
 * measures and writes a log; the reductions to one number are done by postprocess. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "filesystem.h"
#include "library_rows.h"
#include "measure.h"
#include "memory.h"
#include "memory_fill.h"
#include "process_times.h"
#include "read_shift.h"
#include "records.h"
#include "scratch.h"
#include "units.h"
#include "walk.h"

enum { DEFAULT_TYPES = (1u << (TYPE_SEGMENTED_COLLECTIVE + 1)) - 1, EVERY_METHOD = (1u << METHODS) - 1 };

static const double official_seconds = 900, top_clusters_seconds = 1800, quick_seconds = 60;

struct choices {
    struct file_choices files;
    struct request request;
    const char *partitions, *interface;
    int64_t memory_per_process, largest_chunk, cache_size;
    bool quick, top_clusters, dry_run;
};

static const char *const summary_text =
    "b_eff_io measures the effective bandwidth of MPI-I/O: initial write, rewrite and read of files with five types "
    "of\n"
    "access patterns and chunks from 1 KiB to 1/128 of a node's memory, for a scheduled time.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES b_eff_io --directory DIR [OPTION]...\n"
    "Example:  mpirun -n 16 b_eff_io --directory /scratch/me && coffeecup score b_eff_io.jsonl\n\n"
    "A run takes about 15 minutes for each partition; --dry-run prints the time and space.";

static int64_t node_memory(const struct run *run, int64_t memory_option)
{
    int64_t mine = memory_option ? memory_option * run->machine.ranks_on_node : run->machine.node_memory_bytes, least;
    MPI_CHECK(MPI_Allreduce(&mine, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return least;
}

/* On one node the next process reads; in a run of several nodes a partition must not read on the node that wrote. */
static void check_read_shift(const struct run *run, const struct request *request)
{
    for (int i = 0; i < request->partitions; i++) {
        const int color = run->rank < request->partition[i] ? 0 : MPI_UNDEFINED;
        int shift = 0;
        MPI_Comm comm;
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, color, run->rank, &comm));
        if (comm != MPI_COMM_NULL) {
            shift = read_shift(comm, run->machine.leader, run->machine.nodes);
            MPI_CHECK(MPI_Comm_free(&comm));
        }
        MPI_CHECK(MPI_Bcast(&shift, 1, MPI_INT, 0, MPI_COMM_WORLD)); /* rank 0 is in every partition */
        if (!shift)
            refuse(
                "--read-shift: in the partition of %d, %s; choose other --partitions, for example `all`, or place the "
                "processes evenly on the nodes",
                request->partition[i], why_no_read_shift(run->machine.nodes));
    }
}

static void check_choices(const struct choices *c)
{
    const uint64_t time_driven = 1u << TYPE_SCATTER | 1u << TYPE_SHARED | 1u << TYPE_SEPARATE;
    if (c->quick && c->top_clusters)
        refuse("--quick and --top-clusters exclude each other; for a short run of the Top Clusters form use "
               "--scheduled-time");
    if (!(c->request.methods & 1u << METHOD_WRITE))
        refuse("--methods: write is required, because the others access the data that it wrote");
    if (!(c->request.types & time_driven))
        refuse("--types: at least one of scatter, shared and separate is required, because it determines the counts of "
               "the "
               "others");
    if (c->largest_chunk % 8)
        refuse("--largest-chunk: not a multiple of 8");
}

static struct request make_request(const struct run *run, const struct choices *c, const struct filesystem *filesystem)
{
    struct request request = c->request;
    request.rewrite_scatter_only = c->top_clusters;
    request.check_all = c->files.check_all;
    check_choices(c);
    if (c->partitions)
        parse_partitions(c->partitions, run->ranks, &request);
    else
        request.partitions = default_partitions(run->ranks, request.partition);
    if (request.scheduled_seconds == 0)
        request.scheduled_seconds = c->quick          ? quick_seconds / request.partitions
                                    : c->top_clusters ? top_clusters_seconds / request.partitions
                                                      : official_seconds;
    list_patterns(c->largest_chunk ? c->largest_chunk : m_part_rule(node_memory(run, c->memory_per_process)),
                  request.pattern);
    request.largest_call_bytes = request.alignment_bytes; /* maximum size of the call that fills up a segment */
    for (int p = 0; p < PATTERNS; p++)
        if (request.types >> request.pattern[p].type & 1 && request.pattern[p].call_bytes > request.largest_call_bytes)
            request.largest_call_bytes = request.pattern[p].call_bytes;
    check_memory(&run->machine, &request, " or choose a smaller --largest-chunk");
    memory_fill_check(&run->machine, request.fill_percent, PERIOD_BYTES + request.largest_call_bytes);
    if (request.read_shift)
        check_read_shift(run, &request);
    request.space_limit_bytes = choose_space(c->files.space_limit, least_space_bytes(&request), filesystem,
                                             "fewer --partitions or a smaller --largest-chunk");
    return request;
}

static json_t *types_json(const struct request *request)
{
    json_t *types = json_array();
    for (int t = 0; t < TYPES; t++)
        if (request->types >> t & 1)
            json_array_append_new(types, OBJECT(field_text("name", pattern_types[t].name), field_int("number", t),
                                                field_bool("averaged", pattern_types[t].averaged),
                                                field_bool("collective", pattern_types[t].collective),
                                                field_bool("separate", pattern_types[t].separate)));
    return types;
}

static json_t *patterns_json(const struct request *request)
{
    json_t *patterns = json_array();
    for (int p = 0; p < PATTERNS; p++)
        if (request->types >> request->pattern[p].type & 1)
            json_array_append_new(patterns, pattern_json(p, &request->pattern[p]));
    return patterns;
}

static json_t *plan_json(const struct request *request, const struct choices *c, const struct run *run,
                         int64_t node_memory_bytes)
{
    json_t *method_list = json_array();
    for (int m = 0; m < METHODS; m++)
        if (request->methods >> m & 1)
            json_array_append_new(method_list, json_string(methods[m].name));
    return OBJECT(field_text("form", c->quick          ? "quick"
                                     : c->top_clusters ? "top-clusters"
                                                       : "standard"),
                  field_json("partitions", list_of_ints(request->partition, request->partitions)),
                  field_real("scheduled_seconds", request->scheduled_seconds), field_int("units_sum", SUM_UNITS),
                  field_json("methods", method_list), field_int("node_memory_bytes", node_memory_bytes),
                  field_int("m_part_bytes", request->pattern[1].chunk_bytes),
                  field_int("alignment_bytes", request->alignment_bytes),
                  field_int_or_null("cache_bytes", c->cache_size, c->cache_size),
                  field_int("space_limit_bytes", request->space_limit_bytes),
                  field_text("termination", request->agree_per_access ? "per-access" : "geometric"),
                  field_text("file_pointers", request->individual_pointers ? "individual" : "shared"),
                  field_text("check", request->check_all ? "all" : "sample"), field_bool("evict", request->evict),
                  field_text("read_shift", request->read_shift ? read_shift_name(run->machine.nodes) : NULL),
                  field_int_or_null("fill_memory_percent", request->fill_percent, request->fill_percent),
                  field_text("process_times", process_resolution(run)), field_json("interfaces", library_json()),
                  field_json("types", types_json(request)), field_json("patterns", patterns_json(request)));
}

static void print_dry_run(const struct request *request, const struct filesystem *filesystem)
{
    const double seconds = request->scheduled_seconds * request->partitions;
    printf("partitions:");
    for (int i = 0; i < request->partitions; i++)
        printf(" %d", request->partition[i]);
    printf(" processes\ntime:       about %.0f s for each partition, %.0f s in total, plus checks of the data\n",
           request->scheduled_seconds, seconds);
    printf("space:      from %.3g GByte to the limit of %.3g GByte; %.3g GByte are free on '%s' (%s).\n"
           "            Each 1000 MByte/s of write bandwidth require %.3g GByte; a pattern that reaches its share of\n"
           "            the limit ends early, and the run is not official\n",
           1e-9 * (double)least_space_bytes(request), 1e-9 * (double)request->space_limit_bytes,
           1e-9 * (double)filesystem->free_bytes, filesystem->directory, filesystem->mount.type, seconds / METHODS);
    printf("memory:     %" PRId64 " byte per process; M_PART is %" PRId64 " byte\n",
           PERIOD_BYTES + request->largest_call_bytes, request->pattern[1].chunk_bytes);
}

static void print_table(const struct request *request, const struct summary *summary, const struct choices *choices)
{
    printf("%-10s %-22s", "processes", "type");
    for (int m = 0; m < METHODS; m++)
        printf(" %12s", methods[m].name);
    printf("\n");
    for (int i = 0; i < request->partitions; i++)
        for (int t = 0; t < TYPES; t++) {
            if (!(request->types >> t & 1))
                continue;
            printf("%-10d %-22s", request->partition[i], pattern_types[t].name);
            for (int m = 0; m < METHODS; m++)
                if (is_measured(request, (enum method_number)m, (enum type_number)t))
                    printf(" %12.1f", 1e-6 * summary->bytes[i][m][t] / summary->seconds[i][m][t]);
                else
                    printf(" %12s", "-");
            printf("\n");
        }
    if (summary->overruns)
        printf("%d measurements of size-driven types left out calls, because the run would have taken more than twice "
               "its\n"
               "scheduled time. It is not official; rerun it on an idle machine, or with a longer --scheduled-time\n",
               summary->overruns);
    printf("MByte/s from opening to closing the file%s.\n", library_label());
    run_print_score_command(choices->files.log);
}

static int run_b_eff_io(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, &choices->memory_per_process);
    const struct filesystem filesystem = filesystem_describe(choices->files.directory);
    struct request request = make_request(&run, choices, &filesystem);
    const struct file_choices *files = &choices->files;
    const bool by_library = library_begin(&request, choices->interface, files);
    struct hints *hints = by_library ? NULL : hints_read(files->hints, request.pattern);
    request.hints = hints;
    if (choices->dry_run) {
        if (run.rank == 0)
            print_dry_run(&request, &filesystem);
        hints_free(hints);
        return run_end(&run);
    }
    const int64_t node_memory_bytes = node_memory(&run, choices->memory_per_process);
    run_open_log(&run, choices->files.log, argv, &filesystem,
                 run.rank == 0 ? plan_json(&request, choices, &run, node_memory_bytes) : NULL);
    scratch_create(choices->files.directory, program->name, choices->files.keep);

    struct summary *summary = allocate(1, sizeof *summary);
    measure(&run, &request, summary);
    scratch_remove();
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE)
        print_table(&request, summary, choices);
    free(summary);
    hints_free(hints);
    return status;
}

static struct choices choices = {
    .files = {.log = "b_eff_io.jsonl", .directory = "."},
    .request = {
        .rows = pattern_types, .alignment_bytes = MIB, .seed = 1, .types = DEFAULT_TYPES, .methods = EVERY_METHOD}};

/* The options that enter the published definition keep their defaults in an official run. */
static const struct option_row rows[] = {
    OPTION_DIRECTORY(&choices.files.directory),
    OPTION_LOG(&choices.files.log),
    SECONDS_OPTION("scheduled-time", &choices.request.scheduled_seconds, 0, 864000,
                   "T, the time for one partition; 0 means 900, or the time of --quick or --top-clusters"),
    TEXT_OPTION("partitions", &choices.partitions, "LIST",
                "numbers of processes, separated by commas, or `all`; default: 2^round(0.35 log2 n), 2^round(0.70 log2 "
                "n) and n"),
    FLAG_OPTION("quick", &choices.quick,
                "about a minute for all partitions together; the result is not valid for comparison"),
    FLAG_OPTION("top-clusters", &choices.top_clusters,
                "30 minutes for all partitions together; only type scatter is rewritten"),
    FLAG_OPTION("dry-run", &choices.dry_run, "print the time and space that the run would take, and exit"),
    TABLE_OPTION("types", &choices.request.types, pattern_types,
                 "pattern types to run; b_eff_io requires the first five, random types are only reported"),
    TABLE_OPTION("methods", &choices.request.methods, methods, "access methods to run; write is required"),
    SIZE_OPTION("memory-per-process", &choices.memory_per_process, MIB, INT64_C(1) << 50,
                "memory per process; default: the node's memory or control group limit, divided by the number of\n"
                "        processes on the node. M_PART is 1/128 of a node's memory, at least 2 MiB, at most 1 GiB"),
    SIZE_OPTION("largest-chunk", &choices.largest_chunk, MIB, 64 * GIB,
                "M_PART, instead of the rule; the result is not official"),
    SIZE_OPTION("alignment", &choices.request.alignment_bytes, 8, 16 * GIB,
                "segments of types 3 and 4 begin at multiples of this; best a multiple of the stripe size"),
    SIZE_OPTION("cache-size", &choices.cache_size, 0, INT64_C(1) << 60,
                "size of the file system's cache, of which 20 times must be accessed; default: the nodes' memory"),
    FLAG_OPTION("individual-pointers", &choices.request.individual_pointers,
                "type shared with individual file pointers and a strided view; the result is marked"),
    FLAG_OPTION("agree-per-access", &choices.request.agree_per_access,
                "types scatter and shared: processes agree after every access, as in the original program, instead of\n"
                "        after growing batches"),
    FLAG_OPTION("evict", &choices.request.evict,
                "evict files from the nodes' caches before they are read; the log states how much remained"),
    OPTION_READ_SHIFT(&choices.request.read_shift),
    OPTION_FILL_MEMORY(&choices.request.fill_percent, "while files are read"),
    TEXT_OPTION("interface", &choices.interface, "NAME",
                "access files through PRIOMark's interfaces NAME and NAME-collective (hdf5, pnetcdf, netcdf, or\n"
                "        DIRECTORY/NAME for others) or, to compare, mpi-io; requires a space limit and these types:\n"
                "        scatter,segmented,segmented-collective"),
    COUNT_OPTION("seed", &choices.request.seed, "N", 0, INT64_MAX, "seed of the random types"),
    FILE_OPTIONS(&choices.files),
    {0}};

int main(int argc, char **argv)
{
    const struct program program = {"b_eff_io", summary_text, usage_text, rows};
    return run_b_eff_io(&program, &choices, argc, argv);
}
