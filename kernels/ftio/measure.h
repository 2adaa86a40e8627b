/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the requested number of transforms and writes the measurements to the log. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "phases.h"
#include "run.h"
#include "sizes.h"
#include "storage.h"

struct request {
    struct sizes sizes;
    const char *directory; /* under test: the run creates its own directory in it */
    const struct storage_method *method;
    bool direct, keep;
    int64_t repetitions, exchange_bytes;
};

/* For the table at the terminal: values of the last repetition, on rank 0. */
struct summary {
    double elapsed_seconds, io_seconds; /* of the process that took longest in I/O */
    double stage_seconds[STAGES];       /* of rank 0 */
    double largest_relative_difference;
};

/* Fails if the result of a transform is wrong, after its measurements were logged. Collective. */
void measure(struct run *run, const struct request *request, struct summary *summary);
