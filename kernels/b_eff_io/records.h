/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the log (docs/log.md). */
#pragma once

#include <jansson.h>

#include "files.h"

/* Partition, access method and type of a record. */
struct subject {
    int processes; /* of the partition */
    enum method_number method;
    const struct pattern_type *type;
};

/* A pattern type from opening to closing; bytes of all processes. */
struct type_result {
    struct files files;
    int64_t bytes, segment_bytes;
    double pattern_seconds;
};

/* A pattern of the plan. */
json_t *pattern_json(int number, const struct pattern *pattern);

double type_seconds(const struct type_result *result);

/* Both take ownership of `hints`, and of `striping`, which striping_json() made. */
json_t *measurement_json(const struct subject *subject, int number, const struct pattern *pattern,
                         const struct result *result, double scheduled_seconds, json_t *hints);
json_t *pattern_type_json(const struct subject *subject, const struct type_result *result, json_t *striping,
                          json_t *hints);

/* Takes ownership of the lists, one value for each process in the order of the ranks (process_times.h). */
json_t *process_times_json(const struct subject *subject, int number, json_t *calls, json_t *access_seconds,
                           json_t *sync_seconds);

/* Takes ownership of `servers`, which layout_json() made. */
json_t *layout_record_json(const struct subject *subject, json_t *servers);
