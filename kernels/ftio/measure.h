/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the transform as often as asked for and writes what was measured to the log. */
#ifndef FTIO_MEASURE_H
#define FTIO_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "phases.h"
#include "run.h"
#include "sizes.h"
#include "storage.h"

struct request {
    struct sizes sizes;
    const char *directory; /* under test: where the run makes a directory of its own */
    const struct storage_method *method;
    bool direct, keep;
    int64_t repetitions, exchange_bytes;
};

/* For the table at the terminal, on rank 0: of the last repetition. */
struct summary {
    double elapsed_seconds, io_seconds; /* of the process that took longest in I/O */
    double stage_seconds[STAGES];       /* of rank 0 */
    double largest_relative_difference;
};

/* Fails, after the measurements were logged, where the result of the transform is wrong. Collective. */
void measure(struct run *run, const struct request *request, struct summary *summary);

#endif
