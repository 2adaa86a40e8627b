/* SPDX-License-Identifier: Apache-2.0 */
/* See run.h. */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>

#include "activity.h"
#include "agreement.h"
#include "clock.h"
#include "clocks.h"
#include "environment.h"
#include "fail.h"
#include "hang.h"
#include "interrupt.h"
#include "keeper.h"
#include "note.h"
#include "overlap.h"
#include "peers.h"
#include "progress.h"
#include "provenance.h"
#include "revision.h"

enum { REASON_LENGTH = 512 };

/* Closed by fail(), which is called from everywhere. NULL on all ranks except 0. */
static struct log *open_log;

/* The cause of a failure: that of rank 0 itself, one that all agreed on, or one in the note of another process. */
static json_t *cause_json(const struct failure *failure, const char *host)
{
    char note[NOTE_BYTES];
    json_t *cause = note_take(note) ? json_loads(note, 0, NULL) : NULL;
    if (cause)
        return cause;
    cause = OBJECT(field_text("reason", failure->message));
    if (failure->rank != NO_RANK) {
        json_object_set_new(cause, "rank", json_integer(failure->rank));
        json_object_set_new(cause, "host", text_json(failure->host ? failure->host : host));
    }
    return cause;
}

static void report_failure(const struct failure *failure)
{
    struct log *log = open_log;
    char host[MPI_MAX_PROCESSOR_NAME];
    host_name(host);
    if (failure->together && failure->rank != NO_RANK)
        MPI_Bcast(host, sizeof host, MPI_CHAR, failure->rank, MPI_COMM_WORLD);
    open_log = NULL;
    peers_leave(0);
    if (!failure->together)
        note_leave(failure->message);
    if (log)
        log_close(log, "failed", cause_json(failure, host));
}

/* The first rank of every node has a keeper, also before there is a log: the files of a run may be on a file system
 * that hangs. */
static void start_watch(const struct run *run)
{
    peers_begin(run->machine.leader);
    peers_enter(hang_patience_of_files(), "start"); /* before a keeper looks at it */
    peers_arrive();
    fail_do(report_failure);
    if (run->machine.leader == run->rank)
        keeper_start();
}

struct run run_begin(const struct program *program, int *argc, char ***argv, const int64_t *memory_option)
{
    struct run run = {.program = program};
    keeper_main(*argc, *argv);
    const char *complaint = options_parse(program, *argc, *argv);
    fail_setup(program->name);
    MPI_CHECK(MPI_Init(argc, argv));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &run.rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &run.ranks));
    if (complaint)
        refuse("%s", complaint);
    progress_begin(program->name, run.rank);
    run.start_seconds = MPI_Wtime();
    run.machine = machine_describe();
    start_watch(&run);

    const int64_t share = run.machine.node_memory_bytes / run.machine.ranks_on_node;
    const int64_t requested = memory_option ? *memory_option : 0;
    int64_t mine[2] = {share, requested ? requested : share}, least[2];
    MPI_CHECK(MPI_Allreduce(mine, least, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    if (least[0] < 1)
        refuse("a node has no memory for its processes: the system reports %" PRId64
               " bytes for each (on rank 0's node: %" PRId64
               " for %d processes); check /proc/meminfo and the limits of the control group",
               least[0], run.machine.node_memory_bytes, run.machine.ranks_on_node);
    run.memory_per_process_bytes = least[1];
    run.memory_source = requested ? "option" : run.machine.memory_source;
    return run;
}

#define TEXT_OF(number) #number
#define VALUE_OF(macro) TEXT_OF(macro)

/* The MPI library whose header the kernel was compiled with, "" if it is unknown. The log's `mpi.library` runs. */
static const char *compiled_mpi_library(void)
{
#if defined MPI_ABI || defined MPI_H_ABI
    return "MPI ABI " VALUE_OF(MPI_ABI_VERSION) "." VALUE_OF(MPI_ABI_SUBVERSION);
#elif defined OMPI_MAJOR_VERSION
    return "Open MPI " VALUE_OF(OMPI_MAJOR_VERSION) "." VALUE_OF(OMPI_MINOR_VERSION) "." VALUE_OF(OMPI_RELEASE_VERSION);
#elif defined I_MPI_VERSION
    return "Intel MPI " I_MPI_VERSION;
#elif defined MPICH_VERSION && !defined MVAPICH2_VERSION
    return "MPICH " MPICH_VERSION;
#else
    return "";
#endif
}

static json_t *build_json(void)
{
    char standard[16];
    snprintf(standard, sizeof standard, "%d.%d", MPI_VERSION, MPI_SUBVERSION);
    return OBJECT(field_json("git_revision", text_or_null(COFFEECUP_REVISION)),
                  field_text("source_sha256", COFFEECUP_SOURCE_SHA256),
                  field_json("spack_hash", text_or_null(COFFEECUP_SPACK_HASH)),
                  field_text("compiler", COFFEECUP_COMPILER), field_text("flags", COFFEECUP_FLAGS),
                  field_text("mpi_standard", standard),
                  field_json("mpi_library", text_or_null(compiled_mpi_library())));
}

static json_t *command_json(char **command)
{
    json_t *words = json_array();
    for (; *command; command++)
        json_array_append_new(words, text_json(*command));
    return words;
}

static json_t *run_json(struct run *run, char **command, const struct filesystem *filesystem, json_t *differing)
{
    char start[UTC_BYTES];
    utc_now(start);
    json_t *record =
        OBJECT(field_int("schema_version", LOG_SCHEMA_VERSION), field_text("benchmark", run->program->name),
               field_text("kernel_version", COFFEECUP_VERSION), field_text("start_time", start),
               field_json("command", command_json(command)), field_json("options", options_json(run->program->rows)),
               field_json("mpi", json_incref(run->machine.mpi)), field_int("ranks", run->ranks),
               field_json("hosts", json_incref(run->machine.hosts)),
               field_int("memory_per_process_bytes", run->memory_per_process_bytes),
               field_text("memory_source", run->memory_source),
               field_json("filesystem", filesystem ? filesystem_json(filesystem) : json_null()),
               field_json("environment", steering_environment()), field_json("build", build_json()),
               field_json("provenance", provenance_json()), field_bool("simulated", COFFEECUP_SIMULATED));
    if (json_array_size(differing) > 0)
        json_object_set(record, "environment_differs", differing);
    json_decref(differing);
    return record;
}

static void create_log(struct run *run, const char *path)
{
    char reason[REASON_LENGTH] = "", host[MPI_MAX_PROCESSOR_NAME];
    if (run->rank == 0)
        run->log = log_open(path, reason, sizeof reason);
    MPI_CHECK(MPI_Bcast(reason, sizeof reason, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        refuse("%s", reason);
    open_log = run->log;
    host_name(host);
    note_setup(path, host);
    keeper_note(run->log ? log_file(run->log) : -1);
    peers_vote(note_path()[0]);
    if (run->rank != 0)
        interrupt_watch(-1, 0);
}

/* Before the clocks of the run start; a simulated node has no counters. */
static void begin_counters(struct run *run)
{
    if (COFFEECUP_SIMULATED && idle_power_seconds > 0)
        refuse("a simulated node has no idle power; leave out --idle-power");
    if (COFFEECUP_SIMULATED)
        return;
    run->counters = node_counters_begin(run->machine.leader == run->rank);
    run->start_seconds += run->counters.idle_seconds;
}

void run_open_log(struct run *run, const char *path, char **command, const struct filesystem *filesystem, json_t *plan)
{
    json_t *files = files_json(run->program->rows, run->machine.leader);
    json_t *overhead = measure_overhead(MPI_COMM_WORLD), *differing = differing_environment();
    create_log(run, path);
    if (run->rank == 0) {
        log_write(run->log, "run", run_json(run, command, filesystem, differing));
        log_write(run->log, "plan", plan);
        log_write(run->log, "overhead", overhead);
        if (files)
            log_write(run->log, "files", files);
    } else {
        json_decref(overhead);
        json_decref(differing);
    }
    begin_counters(run);
    run->processor_time = processor_time_now();
    run->opened_seconds = run_elapsed_seconds(run);
    run->opened_day_seconds = day_seconds();
}

void run_log_data_check(const struct run *run, const char *name, int64_t bytes, int64_t checked_bytes)
{
    int64_t mine[2] = {bytes, checked_bytes}, all[2];
    MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
    if (run->rank == 0)
        log_write(run->log, "data_check",
                  OBJECT(field_int(name, all[0]), field_int("checked_bytes", all[1]), field_int("wrong_bytes", 0)));
}

void run_print_score_command(const char *log)
{
    printf("These are measurements. Compute the score with: coffeecup score %s\n", log);
}

double run_elapsed_seconds(const struct run *run)
{
    return MPI_Wtime() - run->start_seconds;
}

void run_follow(struct run *run)
{
    node_counters_follow(&run->counters);
}

static void log_counters(struct run *run)
{
    json_t *idle, *counters = node_counters_end(&run->counters, &idle);
    if (idle)
        log_write(run->log, "counters", idle);
    if (counters)
        log_write(run->log, "counters", counters);
}

/* The clock that measures and the time of day have to agree, over the run and in each phase. A simulation has its own
 * time. */
static void log_clocks(const struct run *run, double mpi_seconds)
{
    if (run->log && !COFFEECUP_SIMULATED)
        log_write(run->log, "clocks",
                  OBJECT(field_real("mpi_seconds", mpi_seconds),
                         field_real("day_seconds", day_seconds() - run->opened_day_seconds),
                         field_json("phases", clocks_json())));
}

int run_end(struct run *run)
{
    const double mpi_seconds = run_elapsed_seconds(run) - run->opened_seconds;
    log_clocks(run, mpi_seconds);
    log_counters(run);
    json_t *activity = activity_json(&run->processor_time, &run->machine, mpi_seconds);
    if (activity)
        log_write(run->log, "activity", activity);
    json_t *overlap = overlap_json();
    if (overlap)
        log_write(run->log, "overlap", overlap);
    note_forget();
    peers_leave(0);
    open_log = NULL;
    json_decref(run->machine.mpi);
    json_decref(run->machine.hosts);
    int written = log_close(run->log, "complete", NULL);
    MPI_CHECK(MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Finalize());
    return written ? EXIT_COMPLETE : EXIT_FAILED;
}
