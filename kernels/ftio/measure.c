/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. The timed region is run_stages(); everything else prepares it or reports its measurements. */
#include "measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "clocks.h"
#include "counters.h"
#include "fail.h"
#include "gather.h"
#include "hang.h"
#include "layout.h"
#include "peers.h"
#include "phases.h"
#include "progress.h"
#include "scratch.h"
#include "stages.h"

enum { SERIES = 2 };

/* How far the run has come. */
struct course {
    struct run *run;
    int64_t repetition, repetitions;
    int stage;
};

static void show_progress(void *context, double share)
{
    struct course *course = context;
    const double stages = (double)(course->repetition * STAGES + course->stage) + share;
    progress_show(stages / (double)(course->repetitions * STAGES), run_elapsed_seconds(course->run),
                  stage_names[course->stage]);
}

/* --- the timed region --------------------------------------------------------------------------------------------- */

static void run_stages(struct transform *transform, struct course *course)
{
    transform->difference = (struct difference){0};
    transform->phases = phases_begin();
    for (int s = 0; s < STAGES; s++) {
        transform->phases.stage = (enum stage)s;
        course->stage = s;
        const double day = day_seconds(), start = transform->phases.last_seconds;
        peers_enter(hang_patience_of_files(), "repetition %" PRId64 ", stage %s", course->repetition + 1,
                    stage_names[s]);
        stage_functions[s](transform);
        peers_arrive();
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        activity_ends(&transform->phases, ACTIVITY_WAIT, 0, 1);
        clocks_add(stage_names[s], transform->phases.last_seconds - start, day_seconds() - day);
    }
    transform->phases.end_seconds = MPI_Wtime();
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static int64_t most_resident_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t bytes = (int64_t)usage.ru_maxrss * 1024, most;
    MPI_CHECK(MPI_Allreduce(&bytes, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return most;
}

static struct difference agree_on_difference(const struct difference *mine)
{
    struct difference all;
    const double largest[2] = {mine->largest, mine->largest_relative};
    double agreed[2];
    MPI_CHECK(MPI_Allreduce(&mine->total, &all.total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(largest, agreed, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    all.largest = agreed[0];
    all.largest_relative = agreed[1];
    return all;
}

static json_t *difference_json(const struct difference *difference, int64_t width)
{
    return OBJECT(field_real("total_difference", fmin(difference->total, 1e300)),
                  field_real("largest_difference", difference->largest),
                  field_real("largest_relative_difference", difference->largest_relative),
                  field_real("tolerated_relative_difference", tolerated_difference(width)));
}

/* A list for each sum, one value per process, in rank order. */
static void add_sums(json_t *record, const struct phase_sums *sums, int ranks)
{
    static const char *const names[] = {"elapsed_seconds", "io_seconds", "transform_elapsed_seconds",
                                        "transform_io_seconds"};
    for (int n = 0; n < 4; n++) {
        json_t *list = json_array();
        for (int rank = 0; rank < ranks; rank++) {
            const double values[] = {sums[rank].elapsed_seconds, sums[rank].io_seconds,
                                     sums[rank].transform_elapsed_seconds, sums[rank].transform_io_seconds};
            json_array_append_new(list, json_real(values[n]));
        }
        json_object_set_new(record, names[n], list);
    }
}

static void summarise(struct summary *summary, const struct phases *phases, const struct phase_sums *sums, int ranks,
                      const struct difference *difference)
{
    int slowest = 0;
    for (int rank = 1; rank < ranks; rank++)
        if (sums[rank].io_seconds > sums[slowest].io_seconds)
            slowest = rank;
    *summary = (struct summary){.elapsed_seconds = sums[slowest].elapsed_seconds,
                                .io_seconds = sums[slowest].io_seconds,
                                .largest_relative_difference = difference->largest_relative};
    for (int s = 0; s < STAGES; s++)
        for (int a = 0; a < ACTIVITIES; a++)
            summary->stage_seconds[s] += phases->phase[s][a].seconds;
}

static void log_repetition(struct run *run, const struct transform *transform, struct counters *counters,
                           int64_t repetition, const struct difference *difference, struct summary *summary)
{
    const struct phase_sums mine = phases_sum(&transform->phases);
    const double n = (double)transform->sizes.width;
    struct phase_sums *all = gather(MPI_COMM_WORLD, &mine, sizeof mine);
    phases_log(&transform->phases, run, repetition);
    const struct storage *storage = &transform->storage;
    const bool shared = storage->method->is_shared;
    json_t *striping = striping_json(MPI_COMM_WORLD, &storage->layout, shared);
    json_t *layout = shared ? NULL : layout_json(run, MPI_COMM_WORLD, storage->layout.server);
    if (layout) {
        json_object_set_new(layout, "repetition", json_integer((json_int_t)repetition));
        log_write(run->log, "layout", layout);
    }
    json_t *counts = counters_json(counters);
    const int64_t resident = most_resident_bytes();
    if (run->rank != 0) {
        json_decref(counts);
        return;
    }
    json_t *record = OBJECT(field_int("repetition", repetition),
                            field_real("nominal_flops", SERIES * n * 5 * n * log2(n)), field_json("counters", counts),
                            field_json("verification", difference_json(difference, transform->sizes.width)),
                            field_json("striping", striping), field_int("peak_resident_bytes", resident));
    add_sums(record, all, run->ranks);
    log_write(run->log, "repetition", record);
    summarise(summary, &transform->phases, all, run->ranks, difference);
    free(all);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static void measure_repetition(struct run *run, const struct request *request, struct transform *transform,
                               struct counters *counters, struct course *course, struct summary *summary)
{
    const bool last = course->repetition + 1 == request->repetitions;
    counters_start(counters);
    run_stages(transform, course);
    counters_stop(counters);
    transform->storage.method->close(&transform->storage, request->keep && last);
    fftw_destroy_plan(transform->plan);

    const struct difference difference = agree_on_difference(&transform->difference);
    log_repetition(run, transform, counters, course->repetition + 1, &difference, summary);
    if (!(difference.largest_relative <= tolerated_difference(request->sizes.width)))
        fail_together(
            "verification failed: the largest relative difference is %.3g, rounding explains at most %.3g; the file "
            "system, the MPI library, FFTW or the memory corrupts data",
            difference.largest_relative, tolerated_difference(request->sizes.width));
}

static void log_start(struct run *run, const struct request *request, const char *directory)
{
    const int64_t resident = most_resident_bytes();
    if (run->log)
        log_write(run->log, "start",
                  OBJECT(field_text("directory", directory), field_bool("kept", request->keep),
                         field_int("resident_bytes", resident)));
}

void measure(struct run *run, const struct request *request, struct summary *summary)
{
    struct course course = {.run = run, .repetitions = request->repetitions};
    log_start(run, request, scratch_create(request->directory, run->program->name, request->keep));
    fftw_mpi_init();
    const struct storage storage = storage_prepare(request->method, &request->sizes, run->rank, request->direct);
    struct transform transform = transform_prepare(&request->sizes, run->rank, &storage, request->exchange_bytes);
    struct counters *counters = counters_open();
    if (run->rank == 0) {
        transform.report = show_progress;
        transform.report_context = &course;
    }
    for (; course.repetition < request->repetitions; course.repetition++) {
        run_follow(run);
        measure_repetition(run, request, &transform, counters, &course, summary);
    }
    progress_end();
    counters_close(counters);
    transform_free(&transform);
    fftw_mpi_cleanup();
    scratch_remove();
}
