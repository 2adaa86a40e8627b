/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. */
#include "measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "clocks.h"
#include "fail.h"
#include "hang.h"
#include "layout.h"
#include "memory.h"
#include "peers.h"
#include "process_times.h"
#include "progress.h"

static const char *const target_names[] = {
    [PRIOMARK_IN_DIRECTORY] = "directory", [PRIOMARK_ON_FILE] = "file", [PRIOMARK_ON_DEVICE] = "device"};

/* --- before: the plan --------------------------------------------------------------------------------------------- */

void plan_cases(struct priomark *host)
{
    for (int i = 0; i < host->workload->groups; i++) {
        const int before = host->cases;
        host->group = &host->workload->group[i];
        if (host->shift && host->group->benchmark == &trace_benchmark)
            priomark_refuse(host, NULL,
                            "its processes read their own data only: omit --read-shift, or leave it out with --only");
        host->group->benchmark->plan(host);
        if (host->cases == before)
            priomark_refuse(host, NULL, "no case to measure; give each key at least one value");
    }
}

int64_t plan_space_bytes(const struct priomark *host)
{
    int64_t most = 0;
    for (int i = 0; i < host->cases; i++) {
        double bytes = (double)host->planned[i].what.space_bytes; /* the sum may exceed the range of integers */
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        if (bytes > 9e18)
            refuse("%s: case %d requires %.3g bytes of space; choose a smaller process_size or fewer files",
                   host->workload->path, i + 1, bytes);
        if ((int64_t)bytes > most)
            most = (int64_t)bytes;
    }
    return most;
}

static json_t *case_json(const struct planned *planned, int number)
{
    const struct priomark_case *what = &planned->what;
    return OBJECT(field_int("case", number), field_text("benchmark", planned->group->benchmark->name),
                  field_text("pattern", what->pattern), field_text("method", what->method),
                  field_int("process_bytes", what->process_bytes),
                  field_int_or_null("block_bytes", what->block_bytes, what->block_bytes),
                  field_json("read_share", what->read_share >= 0 ? json_real(what->read_share) : json_null()),
                  field_bool("direct", what->direct), field_text("target", target_names[what->target]));
}

json_t *plan_cases_json(const struct priomark *host)
{
    json_t *cases = json_array();
    for (int i = 0; i < host->cases; i++)
        json_array_append_new(cases, case_json(&host->planned[i], i + 1));
    return cases;
}

/* --- after: the values of all processes --------------------------------------------------------------------------- */

static json_t *latency_entry_json(const struct latency *latency, const char *operation)
{
    json_t *entry = OBJECT(field_text("operation", operation)), *fields = latency_json(latency);
    json_object_update_new(entry, fields);
    return entry;
}

static json_t *latencies_json(struct notes *notes)
{
    json_t *list = json_array();
    for (int o = 0; o < PRIOMARK_OPERATIONS; o++) {
        latency_gather(&notes->latency[o], MPI_COMM_WORLD);
        if (notes->latency[o].calls)
            json_array_append_new(list, latency_entry_json(&notes->latency[o], operation_names[o]));
    }
    return list;
}

static json_t *values_json(const struct run *run, const struct notes *notes)
{
    json_t *values = json_object();
    double *all = allocate((size_t)run->ranks, sizeof *all);
    for (int i = 0; i < notes->values; i++) {
        MPI_CHECK(MPI_Gather(&notes->value[i].value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        json_t *list = json_array();
        for (int rank = 0; run->rank == 0 && rank < run->ranks; rank++)
            json_array_append_new(list, json_real(isfinite(all[rank]) ? all[rank] : 0));
        json_object_set_new(values, notes->value[i].name, list);
    }
    free(all);
    return values;
}

static double slowest(double seconds)
{
    return agree_on_times(MPI_COMM_WORLD, seconds).slowest;
}

static json_t *measured_json(struct priomark *host, struct result *result)
{
    struct notes *notes = &host->notes;
    const struct planned *planned = &host->planned[host->number - 1];
    const struct spread elapsed = agree_on_times(MPI_COMM_WORLD, notes->ended - notes->begun - notes->paused);
    int64_t counts[] = {notes->calls[PRIOMARK_READ], notes->calls[PRIOMARK_WRITE], notes->bytes[PRIOMARK_READ],
                        notes->bytes[PRIOMARK_WRITE]};
    double phase[PRIOMARK_PHASES];
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    for (int p = 0; p < PRIOMARK_PHASES; p++)
        phase[p] = slowest(notes->phase[p]);
    *result = (struct result){
        .bytes = (double)(counts[2] + counts[3]), .calls = (double)(counts[0] + counts[1]), .seconds = elapsed.slowest};
    json_t *record = case_json(planned, host->number);
    json_t *measured =
        OBJECT(field_int("repetition", host->repetition), field_bool("evicted", notes->evicted),
               field_int("read_calls", counts[0]), field_int("write_calls", counts[1]),
               field_int("read_bytes", counts[2]), field_int("written_bytes", counts[3]),
               field_real("elapsed_seconds", elapsed.slowest), field_real("fastest_seconds", elapsed.fastest),
               field_real("open_seconds", phase[PRIOMARK_OPEN]), field_real("access_seconds", phase[PRIOMARK_ACCESS]),
               field_real("sync_seconds", phase[PRIOMARK_SYNC]), field_real("close_seconds", phase[PRIOMARK_CLOSE]),
               field_json("latencies", latencies_json(notes)), field_json("values", values_json(host->run, notes)));
    json_object_update_new(record, measured);
    json_object_set_new(record, "striping", striping_json(MPI_COMM_WORLD, &notes->layout, notes->shares_file));
    return record;
}

static void write_process_times(const struct priomark *host)
{
    const struct run *run = host->run;
    const struct notes *notes = &host->notes;
    json_t *elapsed = process_times(run, MPI_COMM_WORLD, notes->ended - notes->begun - notes->paused);
    json_t *access = process_times(run, MPI_COMM_WORLD, notes->phase[PRIOMARK_ACCESS]);
    if (run->log)
        log_write_rounded(run->log, "process_times",
                          OBJECT(field_int("case", host->number), field_int("repetition", host->repetition),
                                 field_json("elapsed_seconds", elapsed), field_json("access_seconds", access)));
}

/* Where the file system tells which servers hold the processes' own files. */
static void write_layout(const struct priomark *host)
{
    json_t *layout = host->notes.shares_file ? NULL : layout_json(host->run, MPI_COMM_WORLD, host->notes.layout.server);
    if (!layout)
        return;
    json_object_set_new(layout, "case", json_integer(host->number));
    json_object_set_new(layout, "repetition", json_integer(host->repetition));
    log_write(host->run->log, "layout", layout);
}

static void write_measurement(struct priomark *host, struct result *result)
{
    json_t *record = measured_json(host, result);
    log_write(host->run->log, "measurement", record);
    write_process_times(host);
    write_layout(host);
}

/* --- between: the cases ------------------------------------------------------------------------------------------- */

static void clear(struct notes *notes)
{
    memset(notes, 0, sizeof *notes);
    for (int o = 0; o < PRIOMARK_OPERATIONS; o++)
        latency_clear(&notes->latency[o]);
}

static void measure_case(struct priomark *host, struct result *result)
{
    const struct planned *planned = &host->planned[host->number - 1];
    host->group = planned->group;
    clear(&host->notes);
    peers_enter(hang_patience_of_files(), "%.40s, pattern %.40s, method %.40s, repetition %d",
                planned->group->benchmark->name, planned->what.pattern, planned->what.method, host->repetition);
    planned->group->benchmark->measure(host, &planned->what);
    peers_arrive();
    clocks_add(planned->group->benchmark->name, host->notes.clocked_seconds, host->notes.day_seconds);
    host->read_bytes += host->notes.bytes[PRIOMARK_READ];
    if (planned->group->benchmark->record)
        planned->group->benchmark->record(host, result);
    else
        write_measurement(host, result);
}

void measure(struct priomark *host, struct result *results)
{
    const double all = (double)host->cases * (double)host->workload->repetitions;
    double done = 0;
    for (host->number = 1; host->number <= host->cases; host->number++)
        for (host->repetition = 1; host->repetition <= host->workload->repetitions; host->repetition++) {
            const struct planned *planned = &host->planned[host->number - 1];
            char what[3 * NAME_LENGTH];
            snprintf(what, sizeof what, "%.60s %.60s %.60s", planned->group->benchmark->name, planned->what.pattern,
                     planned->what.method);
            progress_show(done / all, run_elapsed_seconds(host->run), what);
            run_follow(host->run);
            measure_case(host, &results[host->number - 1]);
            done++;
        }
    progress_end();
    run_log_data_check(host->run, "read_bytes", host->read_bytes, host->checked_bytes);
}
