/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the log (docs/log.md). */
#pragma once

#include <jansson.h>

#include "files.h"

/* A pattern of the plan. */
json_t *pattern_json(int number, const struct pattern *pattern);

/* A record of this step: its partition, access method and type, then `fields`, of which it takes ownership. */
json_t *step_json(const struct step *now, json_t *fields);

/* The fields of the pattern that was measured. Takes ownership of `hints`. */
json_t *measurement_json(const struct step *now, const struct pattern *pattern, const struct result *result,
                         double scheduled_seconds, json_t *hints);

/* The time of a type from opening to closing its files, and the fields of it. Takes ownership of `hints`, and of
 * `striping`, which striping_json() made. */
double type_seconds(const struct step *now, const struct files *files);
json_t *pattern_type_json(const struct step *now, const struct files *files, json_t *striping, json_t *hints);
