/* SPDX-License-Identifier: Apache-2.0 */
/* See phases.h. */
#include "phases.h"

#include "fail.h"
#include "process_times.h"

const char *const stage_names[STAGES] = {"initialise", "series_1", "transpose", "exchange", "series_2", "verify"};

const struct activity_row activity_rows[ACTIVITIES] = {
    [ACTIVITY_OPEN] = {"open", true, true},        [ACTIVITY_READ] = {"read", true, true},
    [ACTIVITY_WRITE] = {"write", true, true},      [ACTIVITY_FLUSH] = {"flush", true, true},
    [ACTIVITY_PLAN] = {"plan", false, false},      [ACTIVITY_FFT] = {"fft", false, false},
    [ACTIVITY_COMPUTE] = {"compute", false, true}, [ACTIVITY_EXCHANGE] = {"exchange", false, false},
    [ACTIVITY_WAIT] = {"wait", false, false},
};

struct phases phases_begin(void)
{
    struct phases phases = {0};
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    phases.begin_seconds = phases.last_seconds = MPI_Wtime();
    return phases;
}

struct phase_sums phases_sum(const struct phases *phases)
{
    struct phase_sums sums = {.elapsed_seconds = phases->end_seconds - phases->begin_seconds};
    for (int s = 0; s < STAGES; s++) {
        const bool transform = s != STAGE_INITIALISE && s != STAGE_VERIFY;
        for (int a = 0; a < ACTIVITIES; a++) {
            const double seconds = phases->phase[s][a].seconds, io = activity_rows[a].io ? seconds : 0;
            sums.io_seconds += io;
            sums.transform_elapsed_seconds += transform ? seconds : 0;
            sums.transform_io_seconds += transform ? io : 0;
        }
    }
    return sums;
}

/* The times of a phase over all processes, NULL on all ranks but 0, and where it took no time. */
static json_t *measured(const struct phase *phase, int ranks)
{
    double ends[2] = {phase->seconds, -phase->seconds}, extreme[2] = {0, 0}, sum = 0;
    int64_t mine[2] = {phase->bytes, phase->calls}, all[2] = {0, 0};
    MPI_CHECK(MPI_Reduce(ends, extreme, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Reduce(&phase->seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
    if (extreme[0] <= 0)
        return NULL;
    return OBJECT(field_real("elapsed_seconds", extreme[0]), field_real("fastest_seconds", -extreme[1]),
                  field_real("mean_seconds", sum / ranks), field_int("bytes", all[0]), field_int("calls", all[1]));
}

static json_t *named(int64_t repetition, int stage, int activity, json_t *values)
{
    json_t *record = OBJECT(field_int("repetition", repetition), field_text("stage", stage_names[stage]),
                            field_text("activity", activity_rows[activity].name));
    json_object_update_new(record, values);
    return record;
}

void phases_log(const struct phases *phases, const struct run *run, int64_t repetition)
{
    for (int s = 0; s < STAGES; s++) {
        for (int a = 0; a < ACTIVITIES; a++) {
            const struct phase *phase = &phases->phase[s][a];
            json_t *values = measured(phase, run->ranks);
            json_t *each = activity_rows[a].each ? process_times(run, MPI_COMM_WORLD, phase->seconds) : NULL;
            if (!values) {
                json_decref(each);
                continue;
            }
            log_write(run->log, "measurement", named(repetition, s, a, values));
            if (each)
                log_write_rounded(run->log, "process_times",
                                  named(repetition, s, a, OBJECT(field_json("seconds", each))));
        }
    }
}
