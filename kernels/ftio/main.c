/* SPDX-License-Identifier: Apache-2.0 */
/* ftio: how much of a computation is I/O (Fagerstrom and Kuszmaul). Computes an out-of-core two-dimensional Fourier
 * transform and times every part of it. This kernel measures and writes a log; postprocess computes fractions and
 * rates. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "filesystem.h"
#include "hang.h"
#include "measure.h"
#include "process_times.h"
#include "sizes.h"
#include "storage.h"
#include "units.h"

struct choices {
    const char *log, *input, *storage;
    struct request request;
};

static const char *const summary_text =
    "ftio measures how much of a computation is I/O: it computes the two-dimensional Fourier transform of a matrix on\n"
    "disk, with N = i^2 c rows and columns on c processes, and times every part of the work.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES ftio [OPTION]...\n"
    "Example:  mpirun -n 4 ftio --input 24 --directory /scratch --log ftio.jsonl && coffeecup score ftio.jsonl\n\n"
    "The matrix requires 16 i^4 c^2 bytes in the directory under test.";

static const struct storage_method *find_storage(const char *name)
{
    for (const struct storage_method *method = storage_methods; method->name; method++)
        if (strcmp(method->name, name) == 0)
            return method;
    refuse("--storage: unknown name '%.80s'; valid are posix, mpiio", name);
}

static int64_t valid_or_refuse(int64_t input, const char *text, int processes)
{
    if (input == 0)
        refuse("--input: '%.80s' is too large for %d processes; choose a smaller one", text, processes);
    return input;
}

/* Refuses impossible sizes before any file is created. */
static int64_t choose_input(const char *text, int processes, bool direct)
{
    const int64_t multiple = direct ? DIRECT_ALIGNMENT / ELEMENT_BYTES : 1;
    char *end;
    if (strcmp(text, "auto") == 0)
        return valid_or_refuse(automatic_input(processes, multiple), text, processes);
    const int64_t size = parse_size(text);
    if (size <= 0)
        refuse("--input: '%.80s' is not an input parameter (24), 'auto' or a size (64MiB)", text);
    const int64_t number = strtoll(text, &end, 10);
    if (*end)
        return valid_or_refuse(input_for_bytes(size, processes, multiple), text, processes);
    const int64_t valid = valid_or_refuse(next_input(number, processes, multiple), text, processes);
    if (valid != number)
        refuse("--input %" PRId64 " is not valid on %d process%s: %d must divide its square%s; the next valid one is "
               "%" PRId64,
               number, processes, processes == 1 ? "" : "es", processes,
               number < SMALLEST_INPUT ? ", and it must be at least 2"
               : direct                ? ", and --direct requires a multiple of 32"
                                       : "",
               valid);
    return valid;
}

static json_t *plan_json(const struct run *run, const struct request *request)
{
    const struct sizes *sizes = &request->sizes;
    json_t *stages = json_array(), *activities = json_array();
    for (int s = 0; s < STAGES; s++)
        json_array_append_new(stages, json_string(stage_names[s]));
    for (int a = 0; a < ACTIVITIES; a++)
        json_array_append_new(activities,
                              OBJECT(field_text("name", activity_rows[a].name), field_bool("io", activity_rows[a].io)));
    return OBJECT(field_int("input_parameter", sizes->input), field_int("matrix_width", sizes->width),
                  field_int("square_width", sizes->square), field_int("matrix_bytes", sizes->bytes),
                  field_int("repetitions", request->repetitions), field_text("storage", request->method->name),
                  field_bool("direct", request->direct), field_int("exchange_buffer_bytes", request->exchange_bytes),
                  field_text("process_times", process_resolution(run)), field_json("stages", stages),
                  field_json("activities", activities));
}

static void print_table(const struct request *request, const struct summary *summary, const struct choices *choices)
{
    printf("%-12s %14s\n", "stage", "seconds");
    for (int s = 0; s < STAGES; s++)
        printf("%-12s %14.3f\n", stage_names[s], summary->stage_seconds[s]);
    printf("i = %" PRId64 ", N = %" PRId64 ": %.3f of %.3f s were I/O (slowest process); largest relative difference "
           "to the\nexact result %.2g. Values of the last repetition.\n",
           request->sizes.input, request->sizes.width, summary->io_seconds, summary->elapsed_seconds,
           summary->largest_relative_difference);
    run_print_score_command(choices->log);
}

static int run_ftio(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, NULL);

    struct request request = choices->request;
    request.method = find_storage(choices->storage);
    if (request.direct && !request.method->can_be_direct)
        refuse("--direct requires --storage posix, because MPI-IO has no direct I/O");
    request.sizes = sizes_of(choose_input(choices->input, run.ranks, request.direct), run.ranks);
    const struct filesystem filesystem = filesystem_describe(request.directory);
    filesystem_check_space(&filesystem, run.machine.ranks_on_node, run.ranks, request.sizes.bytes,
                           "choose a smaller --input or another --directory");
    run_open_log(&run, choices->log, argv, &filesystem, run.rank == 0 ? plan_json(&run, &request) : NULL);

    struct summary summary = {0};
    measure(&run, &request, &summary);
    const int status = run_end(&run);
    if (run.rank == 0 && status == EXIT_COMPLETE)
        print_table(&request, &summary, choices);
    return status;
}

int main(int argc, char **argv)
{
    struct choices choices = {.log = "ftio.jsonl",
                              .input = "auto",
                              .storage = "posix",
                              .request = {.directory = ".", .repetitions = 1, .exchange_bytes = 4 * MIB}};
    const struct option_row rows[] = {
        OPTION_LOG(&choices.log),
        TEXT_OPTION(
            "input", &choices.input, "N|auto|SIZE",
            "the input parameter i, whose square the number of processes must divide; auto: the lowest one that is\n"
            "        at least sqrt(processes) + 1 (the paper's eq. (5)); SIZE: the lowest one whose matrix is that "
            "large"),
        OPTION_DIRECTORY(&choices.request.directory),
        TEXT_OPTION("storage", &choices.storage, "NAME",
                    "posix: a file per process, as in the paper; mpiio: one shared file through MPI-IO"),
        FLAG_OPTION("direct", &choices.request.direct,
                    "direct I/O (O_DIRECT, posix only); the input parameter must be a multiple of 32"),
        COUNT_OPTION("repeat", &choices.request.repetitions, "N", 1, 100000,
                     "number of repetitions of the computation, for a mean and an interval"),
        SIZE_OPTION("exchange-buffer", &choices.request.exchange_bytes, KIB, GIB,
                    "memory per process for the exchange of parts of Squares"),
        OPTION_FILES_HANG_AFTER,
        OPTION_IDLE_POWER,
        OPTION_KEEP(&choices.request.keep),
        {0}};
    const struct program program = {"ftio", summary_text, usage_text, rows};
    return run_ftio(&program, &choices, argc, argv);
}
