/* SPDX-License-Identifier: Apache-2.0 */
/* I/O at the same time as a calculation (paper, section 4.1, async). */
#pragma once

#include "access.h"

/* All data of the process, at once. */
struct transfer {
    struct priomark_file file;
    const struct priomark_case *now;
    enum priomark_operation operation;
    char *data;
    bool running;
};

void transfer_start(struct transfer *transfer); /* may block */
void transfer_finish(struct transfer *transfer);

/* Measures the transfer alone, a calculation alone, and both at the same time, and notes the values io_alone_seconds,
 * io_overlapped_seconds, calculation_alone_seconds, calculation_overlapped_seconds and covered (1 if the calculation
 * was at least as long as the transfer). Called instead of begin, end and request: the time of the case is that of the
 * transfer at the same time as the calculation. Collective. */
void overlap(struct transfer *transfer);
