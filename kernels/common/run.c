/* See run.h. */
#include "run.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "activity.h"
#include "agreement.h"
#include "fail.h"
#include "interrupt.h"
#include "revision.h"

enum { REASON_LENGTH = 512 };

const char *run_version(void)
{
    return COFFEECUP_VERSION;
}

struct run run_begin(const struct program *program, int *argc, char ***argv, const char *complaint,
                     int64_t memory_option)
{
    struct run run = {.program = program};
    fail_setup(program->name, NULL);
    MPI_CHECK(MPI_Init(argc, argv));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &run.rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &run.ranks));
    if (complaint)
        refuse("%s", complaint);
    run.start_seconds = MPI_Wtime();
    run.machine = machine_describe();

    const int64_t share = run.machine.node_memory_bytes / run.machine.ranks_on_node;
    int64_t mine[2] = {share, memory_option ? memory_option : share}, least[2];
    MPI_CHECK(MPI_Allreduce(mine, least, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    if (least[0] < 1)
        refuse("a node has no memory for its processes: the system says that it has %" PRId64 " bytes for each (on rank 0's node: "
               "%" PRId64 " for %d processes); see /proc/meminfo and the limits of the control group",
               least[0], run.machine.node_memory_bytes, run.machine.ranks_on_node);
    run.memory_per_process_bytes = least[1];
    run.memory_source = memory_option ? "option" : run.machine.memory_source;
    return run;
}

static json_t *null_if_empty(const char *text)
{
    return *text ? text_json(text) : json_null();
}

static json_t *build_json(void)
{
    char standard[16];
    snprintf(standard, sizeof standard, "%d.%d", MPI_VERSION, MPI_SUBVERSION);
    return json_pack("{s:o, s:o, s:s, s:s, s:s}", "git_revision", null_if_empty(COFFEECUP_REVISION), "spack_hash",
                     null_if_empty(COFFEECUP_SPACK_HASH), "compiler", COFFEECUP_COMPILER, "flags", COFFEECUP_FLAGS,
                     "mpi_standard", standard);
}

static json_t *command_json(char **command)
{
    json_t *words = json_array();
    for (; *command; command++)
        json_array_append_new(words, text_json(*command));
    return words;
}

static json_t *run_json(struct run *run, char **command, json_t *filesystem)
{
    char start[32];
    time_t now = time(NULL);
    strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
#ifdef COFFEECUP_SIMULATED
    const int simulated = 1;
#else
    const int simulated = 0;
#endif
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:o, s:I, s:s, s:o, s:o, s:o, s:b}",
                     "schema_version", LOG_SCHEMA_VERSION, "benchmark", run->program->name,
                     "kernel_version", run_version(), "start_time", start, "command", command_json(command),
                     "options", options_json(run->program->rows), "mpi", run->machine.mpi, "ranks", run->ranks,
                     "hosts", run->machine.hosts, "memory_per_process_bytes",
                     (json_int_t)run->memory_per_process_bytes, "memory_source", run->memory_source,
                     "filesystem", filesystem ? filesystem : json_null(), "environment", steering_environment(),
                     "build", build_json(), "simulated", simulated);
}

void run_open_log(struct run *run, const char *path, char **command, json_t *filesystem, json_t *plan)
{
    char reason[REASON_LENGTH] = "";
    if (run->rank == 0)
        run->log = log_open(path, reason, sizeof reason);
    MPI_CHECK(MPI_Bcast(reason, sizeof reason, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        refuse("%s", reason);
    fail_setup(run->program->name, run->log);
    json_t *overhead = measure_overhead(MPI_COMM_WORLD);
    run->processor_time = processor_time_now();
    run->opened_seconds = run_elapsed_seconds(run);
    if (run->rank != 0) {
        interrupt_follow();
        json_decref(overhead);
        return;
    }
    log_write(run->log, "run", run_json(run, command, filesystem));
    log_write(run->log, "plan", plan);
    log_write(run->log, "overhead", overhead);
}

double run_elapsed_seconds(const struct run *run)
{
    return MPI_Wtime() - run->start_seconds;
}

int run_end(struct run *run)
{
    json_t *activity = activity_json(&run->processor_time, run->machine.leader, run_elapsed_seconds(run) - run->opened_seconds);
    if (activity)
        log_write(run->log, "activity", activity);
    fail_setup(run->program->name, NULL);
    int written = log_close(run->log, "complete", NULL);
    MPI_CHECK(MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Finalize());
    return written ? EXIT_COMPLETE : EXIT_FAILED;
}
