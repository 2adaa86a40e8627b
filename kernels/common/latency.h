/* SPDX-License-Identifier: Apache-2.0 */
/* Histogram of times: 32 bins for each power of two of nanoseconds, single nanoseconds below 64. From 32 ns on,
 * half the width of a bin is at most 1/64 of its middle. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stdint.h>

enum { LATENCY_BITS = 5, LATENCY_BINS = (65 - LATENCY_BITS) << LATENCY_BITS };
static const double latency_relative_error = 1.0 / 64;

struct latency {
    uint64_t bin_calls[LATENCY_BINS], calls;
    double sum_seconds, shortest_seconds, longest_seconds;
};

void latency_clear(struct latency *latency);
void latency_add(struct latency *latency, double seconds);

/* The bin of a time, and the start of a bin, which is the end of the previous one. In nanoseconds. */
int latency_bin(uint64_t nanoseconds);
uint64_t latency_bin_start(int bin);

/* Sums up the histograms of all processes. Collective. */
void latency_gather(struct latency *latency, MPI_Comm comm);

/* The fields of the log that describe a histogram with at least one time. */
json_t *latency_json(const struct latency *latency);
