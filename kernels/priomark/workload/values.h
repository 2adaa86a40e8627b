/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one key of a workload, each checked by the key's row. */
#pragma once

#include <libconfig.h>

#include "priomark.h"

enum { MOST_VALUES = 64 };

struct values {
    int line, count; /* line 0: the workload does not set the key; these are the defaults */
    int64_t number[MOST_VALUES];
    double share[MOST_VALUES];
    char *text[MOST_VALUES];
};

/* Reads a setting as the key's row defines it. Like the next function, it refuses what is invalid, with the workload's
 * `path` and line. Collective. */
void values_read(const struct priomark_key *key, const config_setting_t *setting, struct values *values,
                 const char *path);

/* The row's default. */
void values_standard(const struct priomark_key *key, struct values *values, const char *path);

/* Refuses a name that a key does not have, with those that it has. `name` may be NULL. */
_Noreturn void refuse_unknown_name(const struct priomark_key *key, const char *path, int line, const char *name);

/* Refuses the workload at a line. */
_Noreturn void refuse_line(const char *path, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

void values_free(struct values *values);
