/* SPDX-License-Identifier: Apache-2.0 */
/* See phases.h. */
#include "phases.h"

#include "fail.h"

const char *const stage_names[STAGES] = {"initialise", "series_1", "transpose", "exchange", "series_2", "verify"};

const struct activity_row activity_rows[ACTIVITIES] = {
    [ACTIVITY_OPEN] = {"open", true},        [ACTIVITY_READ] = {"read", true},
    [ACTIVITY_WRITE] = {"write", true},      [ACTIVITY_FLUSH] = {"flush", true},
    [ACTIVITY_PLAN] = {"plan", false},       [ACTIVITY_FFT] = {"fft", false},
    [ACTIVITY_COMPUTE] = {"compute", false}, [ACTIVITY_EXCHANGE] = {"exchange", false},
    [ACTIVITY_WAIT] = {"wait", false},
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

void phases_log(const struct phases *phases, struct log *log, int64_t repetition)
{
    int ranks;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    for (int s = 0; s < STAGES; s++) {
        for (int a = 0; a < ACTIVITIES; a++) {
            const struct phase *phase = &phases->phase[s][a];
            double ends[2] = {phase->seconds, -phase->seconds}, extreme[2], sum;
            int64_t mine[2] = {phase->bytes, phase->calls}, all[2];
            MPI_CHECK(MPI_Reduce(ends, extreme, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
            MPI_CHECK(MPI_Reduce(&phase->seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
            MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
            if (!log || extreme[0] <= 0)
                continue;
            log_write(log, "measurement",
                      json_pack("{s:I, s:s, s:s, s:f, s:f, s:f, s:I, s:I}", "repetition", (json_int_t)repetition,
                                "stage", stage_names[s], "activity", activity_rows[a].name, "elapsed_seconds",
                                extreme[0], "fastest_seconds", -extreme[1], "mean_seconds", sum / ranks, "bytes",
                                (json_int_t)all[0], "calls", (json_int_t)all[1]));
        }
    }
}
