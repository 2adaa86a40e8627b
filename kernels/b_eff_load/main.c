/* SPDX-License-Identifier: Apache-2.0 */
/* b_eff_load: by which factor the traffic of other nodes slows down b_eff's patterns. A part of the nodes, the victims,
 * are measured, while the others generate load. The kernel writes a log; postprocess computes the factors. */
#include <stdlib.h>

#include "fail.h"
#include "file_load.h"
#include "kinds.h"
#include "measure.h"
#include "methods.h"
#include "request.h"
#include "scratch.h"

enum { AVERAGED_GROUPS = 1u << GROUP_RING | 1u << GROUP_RANDOM, FEWEST_NODES_OF_A_ROLE = 2 };
enum { EVERY_MESSAGE = 1u << LOAD_INCAST | 1u << LOAD_ALLTOALL | 1u << LOAD_BROADCAST };

struct choices {
    struct request request;
    const char *log, *directory;
    uint64_t kinds;
    int64_t victims;
};

static const char *const summary_text =
    "b_eff_load measures how much the traffic of other jobs slows down communication: half of the nodes exchange the\n"
    "messages of b_eff without load, and while the other half generates load of each kind. The result is the factor "
    "by\n"
    "which the load slows them down; there is no b_eff of the machine.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES b_eff_load [OPTION]...\n"
    "Example:  mpirun -n 512 b_eff_load --kinds incast --log b_eff_load.jsonl && coffeecup score b_eff_load.jsonl\n\n"
    "With one kind of load, a run takes about as long as b_eff; each further kind adds two phases.";

static bool does_io(const struct choices *choices)
{
    return choices->kinds >> LOAD_IO & 1;
}

static void check_files(const struct choices *choices)
{
    if (does_io(choices) && COFFEECUP_SIMULATED)
        refuse("--kinds io is not possible in a simulation, which has no file system; omit io");
    if (does_io(choices) && !choices->directory)
        refuse("--kinds io writes and reads files; name their directory with --directory");
    if (choices->directory && !does_io(choices))
        refuse("--directory is where the load io writes and reads files; add io to --kinds or omit --directory");
}

static json_t *plan_json(const struct request *request, const struct load *load)
{
    json_t *plan = request_json(request);
    json_object_set_new(plan, "load", load_kinds_json(load, request->length[LENGTHS - 1]));
    return plan;
}

static int run_b_eff_load(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, &choices->request.memory_option_bytes);
    check_files(choices);
    struct filesystem filesystem = {.directory = ""};
    if (does_io(choices))
        filesystem = file_load_describe(&run, choices->directory, FILE_LOAD_BYTES);
    struct nodes nodes = nodes_find(run.machine.leader);
    struct load load =
        load_begin(&nodes, choices->kinds, choices->victims, (uint64_t)choices->request.seed, FEWEST_NODES_OF_A_ROLE);
    const struct memories host = memories_open(&run, &(struct memory_choices){0});
    struct request request = request_begin(&run, choices->request, &host, load.measured_ranks, AVERAGED_GROUPS);
    run_open_log(&run, choices->log, argv, does_io(choices) ? &filesystem : NULL,
                 run.rank == 0 ? plan_json(&request, &load) : NULL);

    if (does_io(choices))
        scratch_create(choices->directory, program->name, false);
    measure(&run, &request, &load);
    if (does_io(choices))
        scratch_remove();
    load_end(&load);
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE)
        run_print_score_command(choices->log);
    nodes_free(&nodes);
    free(request.pattern);
    return status;
}

int main(int argc, char **argv)
{
    struct choices choices = {.request = default_request, .log = "b_eff_load.jsonl", .kinds = EVERY_MESSAGE};
    choices.request.methods = 1u << METHOD_NONBLOCKING;
    const struct option_row rows[] = {
        OPTION_LOG(&choices.log),
        LIST_OPTION("kinds", &choices.kinds, load_kind_names, "kinds of load, each of which is measured by itself"),
        OPTION_VICTIMS(&choices.victims),
        TEXT_OPTION(
            "directory", &choices.directory, "DIR",
            "where the load io writes and reads files; the run creates its own directory there, and removes it"),
        SECONDS_OPTION("time-budget", &choices.request.time_budget_seconds, 1, 86400,
                       "time for the whole run; the first repetition may take 1.75 times as long"),
        LOOP_OPTIONS(&choices.request),
        {0}};
    const struct program program = {"b_eff_load", summary_text, usage_text, rows};
    return run_b_eff_load(&program, &choices, argc, argv);
}
