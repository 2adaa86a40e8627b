/* SPDX-License-Identifier: Apache-2.0 */
/* ftio: how much of a computation is I/O (Fagerstrom and Kuszmaul). An out-of-core two-dimensional Fourier transform
 * is computed and every part of it is timed. This kernel measures and writes a log; fractions and rates are computed
 * by postprocess. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "filesystem.h"
#include "measure.h"
#include "sizes.h"
#include "storage.h"

struct choices {
    const char *log, *input, *directory, *storage;
    int64_t repeat, exchange_buffer;
    bool direct, keep;
};

static const char *const summary_text =
    "ftio measures how much of a computation is I/O: it transforms a matrix that stays on disk (a two-dimensional\n"
    "discrete Fourier transform of N = i^2 c rows and columns on c processes) and times every part of the work.";

static const char *const usage_text =
    "Usage:    mpirun -n PROCESSES ftio [OPTION]...\n"
    "Example:  mpirun -n 4 ftio --input 24 --directory /scratch --log ftio.jsonl && coffeecup score ftio.jsonl\n\n"
    "The log holds raw measurements; 'coffeecup score' and 'coffeecup report' make the numbers from it. SIZE is a\n"
    "number with B, KiB, MiB, GiB or TiB. The matrix takes 16 i^4 c^2 bytes of the directory under test.";

static const struct storage_method *find_storage(const char *name)
{
    for (const struct storage_method *method = storage_methods; method->name; method++)
        if (strcmp(method->name, name) == 0)
            return method;
    refuse("--storage: unknown name '%.80s'; valid are posix, mpiio", name);
}

static int64_t found_or_refuse(int64_t input, const char *text, int processes)
{
    if (input == 0)
        refuse("--input: no valid input parameter from '%.80s' on gives a matrix of a size that can be counted on %d "
               "processes; choose a smaller one",
               text, processes);
    return input;
}

/* All that is known to be impossible is refused here, before any file is made. */
static int64_t choose_input(const char *text, int processes, bool direct)
{
    const int64_t multiple = direct ? DIRECT_ALIGNMENT / ELEMENT_BYTES : 1;
    char *end;
    if (strcmp(text, "auto") == 0)
        return found_or_refuse(automatic_input(processes, multiple), text, processes);
    const int64_t size = parse_size(text);
    if (size <= 0)
        refuse("--input: '%.80s' is not an input parameter (24), 'auto' or a size (64MiB)", text);
    const int64_t number = strtoll(text, &end, 10);
    if (*end)
        return found_or_refuse(input_for_bytes(size, processes, multiple), text, processes);
    const int64_t valid = found_or_refuse(next_input(number, processes, multiple), text, processes);
    if (valid != number)
        refuse("--input %" PRId64 " is not valid on %d processes: %d has to divide its square%s; the next valid one is "
               "%" PRId64,
               number, processes, processes,
               number < SMALLEST_INPUT ? ", and it is at least 2"
               : direct                ? ", and --direct takes multiples of 32 only"
                                       : "",
               valid);
    return valid;
}

static json_t *plan_json(const struct request *request)
{
    const struct sizes *sizes = &request->sizes;
    json_t *stages = json_array(), *activities = json_array();
    for (int s = 0; s < STAGES; s++)
        json_array_append_new(stages, json_string(stage_names[s]));
    for (int a = 0; a < ACTIVITIES; a++)
        json_array_append_new(activities,
                              json_pack("{s:s, s:b}", "name", activity_rows[a].name, "io", activity_rows[a].io));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:b, s:I, s:o, s:o}", "input_parameter", (json_int_t)sizes->input,
                     "matrix_width", (json_int_t)sizes->width, "square_width", (json_int_t)sizes->square,
                     "matrix_bytes", (json_int_t)sizes->bytes, "repetitions", (json_int_t)request->repetitions,
                     "storage", request->method->name, "direct", request->direct, "exchange_buffer_bytes",
                     (json_int_t)request->exchange_bytes, "stages", stages, "activities", activities);
}

static void print_table(const struct request *request, const struct summary *summary, const struct choices *choices)
{
    printf("%-12s %14s\n", "stage", "seconds");
    for (int s = 0; s < STAGES; s++)
        printf("%-12s %14.3f\n", stage_names[s], summary->stage_seconds[s]);
    printf("i = %" PRId64 ", N = %" PRId64 ": %.3f of %.3f s were I/O (slowest process); largest relative difference "
           "to the\nexact result %.2g. These are measurements of the last run; the score comes from: coffeecup score "
           "%s\n",
           request->sizes.input, request->sizes.width, summary->io_seconds, summary->elapsed_seconds,
           summary->largest_relative_difference, choices->log);
}

static int run_ftio(const struct program *program, const struct choices *choices, int argc, char **argv)
{
    struct run run = run_begin(program, &argc, &argv, NULL);

    struct request request = {.directory = choices->directory,
                              .method = find_storage(choices->storage),
                              .direct = choices->direct,
                              .keep = choices->keep,
                              .repetitions = choices->repeat,
                              .exchange_bytes = choices->exchange_buffer};
    if (request.direct && !request.method->can_be_direct)
        refuse("--direct works with --storage posix only: MPI-IO has no word for it");
    request.sizes = sizes_of(choose_input(choices->input, run.ranks, request.direct), run.ranks);
    const struct filesystem filesystem = filesystem_describe(choices->directory);
    filesystem_check_space(&filesystem, run.machine.ranks_on_node, run.ranks, request.sizes.bytes,
                           "choose a smaller --input or another --directory");
    run_open_log(&run, choices->log, argv, run.rank == 0 ? filesystem_json(&filesystem) : NULL,
                 run.rank == 0 ? plan_json(&request) : NULL);

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
                              .directory = ".",
                              .storage = "posix",
                              .repeat = 1,
                              .exchange_buffer = INT64_C(4) << 20};
    const struct option_row rows[] = {
        {"log", OPTION_TEXT, &choices.log, "FILE", "where the measurements go; an existing file is never overwritten",
         0, 0, NULL},
        {"input", OPTION_TEXT, &choices.input, "N|auto|SIZE",
         "the input parameter i, whose square the number of processes divides; auto: the lowest that is at\n"
         "        least the root of the processes + 1 (the paper's eq. (5)); SIZE: the lowest whose matrix is as large",
         0, 0, NULL},
        {"directory", OPTION_TEXT, &choices.directory, "DIRECTORY",
         "the directory under test; the run makes one of its own in it and removes it", 0, 0, NULL},
        {"storage", OPTION_TEXT, &choices.storage, "NAME",
         "posix: a file per process (the paper's way), mpiio: one shared file through MPI-IO", 0, 0, NULL},
        {"direct", OPTION_FLAG, &choices.direct, NULL,
         "past the page cache (O_DIRECT, posix only); the input parameter has to be a multiple of 32", 0, 0, NULL},
        {"repeat", OPTION_COUNT, &choices.repeat, "N", "runs of the whole computation, for a mean and an interval", 1,
         100000, NULL},
        {"exchange-buffer", OPTION_SIZE, &choices.exchange_buffer, "SIZE",
         "memory of a process for parts of Squares on their way to another process", 1024, INT64_C(1) << 30, NULL},
        {"keep", OPTION_FLAG, &choices.keep, NULL, "leave the result in its directory", 0, 0, NULL},
        {0}};
    const struct program program = {"ftio", summary_text, usage_text, rows};
    return run_ftio(&program, &choices, argc, argv);
}
