/* SPDX-License-Identifier: Apache-2.0 */
/* b_eff_io_load: by which factor files of other nodes slow down b_eff_io's patterns. A part of the nodes, the victims,
 * are measured, while the others generate load. The kernel writes a log; postprocess computes the factors. */
#include <stdio.h>

#include "fail.h"
#include "measure.h"
#include "nodes.h"
#include "plan.h"
#include "scratch.h"
#include "units.h"

enum { EVERY_KIND = (1u << LOAD_KINDS) - 1, FEWEST_NODES_OF_A_ROLE = 1 };

struct choices {
    struct file_choices files;
    double scheduled_time;
    int64_t victims, load_file, seed;
    uint64_t kinds;
    bool dry_run;
};

static const char *const summary_text =
    "b_eff_io_load measures how much the I/O of other jobs slows down MPI-I/O: half of the nodes write, rewrite and "
    "read\n"
    "files without load, and while the other half reads or writes files of its own. The result is the factor by which\n"
    "the load slows them down; there is no b_eff_io of the machine.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES b_eff_io_load --directory DIR [OPTION]...\n"
    "Example:  mpirun -n 512 b_eff_io_load --directory /scratch/me && coffeecup score b_eff_io_load.jsonl\n\n"
    "A run takes about 4 minutes.";

/* What the victims read comes from the file system. */
static struct plan make_plan(const struct run *run, const struct choices *c, const struct filesystem *filesystem,
                             const struct nodes *nodes)
{
    struct plan plan = {.request = {.rows = pattern_types,
                                    .scheduled_seconds = c->scheduled_time,
                                    .check_all = c->files.check_all,
                                    .evict = true},
                        .load = load_begin(nodes, c->kinds, c->victims, (uint64_t)c->seed, FEWEST_NODES_OF_A_ROLE),
                        .file_bytes = c->load_file};
    struct request *request = &plan.request;
    if (c->load_file % MIB)
        refuse("--load-file: not a multiple of 1 MiB");
    list_patterns(0, request->pattern); /* M_PART occurs in no pattern under load */
    for (int place = 0; place < LOAD_PATTERNS; place++)
        if (request->pattern[load_patterns[place]].call_bytes > request->largest_call_bytes)
            request->largest_call_bytes = request->pattern[load_patterns[place]].call_bytes;
    check_memory(&run->machine, request, "");
    request->space_limit_bytes =
        choose_space(c->files.space_limit, least_bytes(&plan), filesystem, "a smaller --load-file");
    return plan;
}

static void print_dry_run(const struct plan *plan, const struct filesystem *filesystem)
{
    const struct nodes *nodes = plan->load.nodes;
    printf("processes:  %d are measured, %d generate load\n"
           "time:       about %.0f s, plus checks of the data\n"
           "space:      from %.3g GByte to the limit of %.3g GByte; %.3g GByte are free on '%s' (%s)\n",
           plan->load.measured_ranks, nodes->first[nodes->count] - plan->load.measured_ranks,
           plan->request.scheduled_seconds, 1e-9 * (double)least_bytes(plan),
           1e-9 * (double)plan->request.space_limit_bytes, 1e-9 * (double)filesystem->free_bytes, filesystem->directory,
           filesystem->mount.type);
}

static int run_b_eff_io_load(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, NULL);
    const struct filesystem filesystem = filesystem_describe(choices->files.directory);
    struct nodes nodes = nodes_find(run.machine.leader);
    struct plan plan = make_plan(&run, choices, &filesystem, &nodes);
    struct hints *hints = hints_read(choices->files.hints, plan.request.pattern);
    plan.request.hints = hints;
    if (!choices->dry_run) {
        run_open_log(&run, choices->files.log, argv, &filesystem, run.rank == 0 ? plan_json(&plan) : NULL);
        scratch_create(choices->files.directory, program->name, choices->files.keep);
        measure(&run, &plan);
        scratch_remove();
    } else if (run.rank == 0) {
        print_dry_run(&plan, &filesystem);
    }
    load_end(&plan.load);
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE && !choices->dry_run)
        run_print_score_command(choices->files.log);
    nodes_free(&nodes);
    hints_free(hints);
    return status;
}

int main(int argc, char **argv)
{
    struct choices choices = {.files = {.log = "b_eff_io_load.jsonl", .directory = "."},
                              .scheduled_time = 240,
                              .load_file = 64 * MIB,
                              .seed = 1,
                              .kinds = EVERY_KIND};
    const struct option_row rows[] = {
        OPTION_DIRECTORY(&choices.files.directory),
        OPTION_LOG(&choices.files.log),
        LIST_OPTION("kinds", &choices.kinds, load_kind_names, "kinds of load, each of which is measured by itself"),
        OPTION_VICTIMS(&choices.victims),
        SIZE_OPTION("load-file", &choices.load_file, MIB, INT64_C(1) << 50, "file of each process that generates load"),
        SECONDS_OPTION("scheduled-time", &choices.scheduled_time, 1, 864000,
                       "time for the whole run; the first repetition is always completed"),
        FLAG_OPTION("dry-run", &choices.dry_run, "print the time and space that the run would take, and exit"),
        COUNT_OPTION("seed", &choices.seed, "N", 0, INT64_MAX, "seed by which the measured nodes are chosen"),
        FILE_OPTIONS(&choices.files),
        {0}};
    const struct program program = {"b_eff_io_load", summary_text, usage_text, rows};
    return run_b_eff_io_load(&program, &choices, argc, argv);
}
