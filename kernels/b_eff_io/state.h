/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the measurement share: what lasts as long as the run, and what is being measured now. */
#ifndef B_EFF_IO_STATE_H
#define B_EFF_IO_STATE_H

#include "access.h"
#include "measure.h"
#include "progress.h"

enum { DOING_LENGTH = 64 };

/* What a partition's passes have done so far. */
struct past {
    int64_t written[PATTERNS], rewritten[PATTERNS]; /* calls of this process */
    int64_t written_least[PATTERNS];                /* calls of the process that made the fewest */
    double written_seconds[PATTERNS];
    int64_t segment_bytes[TYPES], fill_up_bytes[TYPES]; /* as the write pass laid them out */
    double spent_seconds;                               /* by rank 0's clock, without checks of data */
};

struct state {
    struct run *run;
    const struct request *request;
    struct summary *summary;
    struct walk walk;
    struct progress progress;
    struct past *past;                 /* per partition */
    int64_t read_bytes, checked_bytes; /* of this process */
    double sync_seconds_per_byte;      /* of the last pattern that was synced */
    int units_done, units_planned;
    bool component_logged;
    double alive_seconds;
    char deadline_reason[256];
};

struct now {
    struct state *state;
    struct past *past; /* of this partition */
    int partition, processes;
    enum method_number method;
    enum type_number type;
    int number; /* of the pattern */
    char doing[DOING_LENGTH];
    MPI_Comm comm;
    const struct pattern_type *row;
    struct stream stream;
    int64_t bytes;
    double pattern_seconds;
    double start_seconds, check_seconds; /* of the partition in this access method */
};

/* From now on nothing may take longer than the watchdog allows. `number` is that of a pattern, if one is `doing`. */
void watch(struct now *now, const char *doing, int number);

/* Shows the watchdog that there is progress; at any rate, it costs little more than a comparison. */
void still_alive(struct now *now, double seconds);

/* Ends the run if any process of the partition has a problem. Collective over the partition. */
void stop_on_problem(const struct now *now, struct problem *problem);

#endif
