/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the measurement: for the whole run, and of what is being measured now. */
#pragma once

#include "access.h"
#include "request.h"
#include "run.h"

enum { DOING_LENGTH = 64 };

/* The results of a partition's earlier passes. */
struct earlier_passes {
    int64_t written[PATTERNS], rewritten[PATTERNS]; /* calls of this process */
    int64_t written_least[PATTERNS];                /* calls of the process with the fewest */
    double written_seconds[PATTERNS];
    int64_t segment_bytes[TYPES], fill_up_bytes[TYPES]; /* as the write pass determined them */
    double spent_seconds;                               /* by rank 0's clock, without checks of data */
};

/* What rank 0 keeps for the table at the terminal. */
struct summary {
    double bytes[MOST_PARTITIONS][METHODS][TYPES], seconds[MOST_PARTITIONS][METHODS][TYPES];
    int overruns; /* measurements that left out calls so that the run ends in time */
};

struct state {
    struct run *run;
    const struct request *request;
    struct summary *summary;
    struct walk walk;
    struct earlier_passes *past;       /* per partition */
    int64_t read_bytes, checked_bytes; /* of this process */
    double sync_seconds_per_byte;      /* of the last sync */
    int units_done, units_planned;
};

/* The step of the measurement: one pattern of one type, in one access method, by one partition. */
struct step {
    struct state *state;
    struct earlier_passes *past; /* of this partition */
    int partition, processes;
    enum method_number method;
    enum type_number type;
    int number; /* of the pattern */
    char doing[DOING_LENGTH];
    MPI_Comm comm;
    MPI_Comm in_order; /* the same processes by their ranks in the run; --read-shift changes those in `comm` */
    const struct pattern_type *row;
    struct stream stream;
    int64_t bytes;
    double pattern_seconds;
    double start_seconds, check_seconds; /* of the partition in this access method */
};

/* Tells the keeper of the node the next step, which `doing` describes. `number`: of the pattern, or -1. Ends with
 * peers_arrive(). */
void watch(struct step *now, const char *doing, int number);

/* Before the calls of a pattern in this access method: clears the buffer for a read, otherwise fills it with what
 * `source` writes. */
void prepare_buffer(struct step *now, const struct pattern *pattern, int64_t calls, uint32_t source);

/* Calls between two notes of progress, of a process that decides alone. */
int64_t round_calls(const struct pattern *pattern);

/* Processes that have nothing to do wait here without using the processor. Collective over MPI_COMM_WORLD. */
void wait_for_all(void);

/* Ends the run if any process of the partition has a problem. Collective over the partition. */
void stop_on_problem(const struct step *now, struct problem *problem);
