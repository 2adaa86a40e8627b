/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one key of a workload, each checked by the key's row. */
#pragma once

#include <libconfig.h>

#include "priomark.h"

enum { MOST_VALUES = 64, COMPLAINT_LENGTH = 512 };

struct values {
    int line, count; /* line 0: the workload does not set the key; these are the defaults */
    int64_t number[MOST_VALUES];
    double share[MOST_VALUES];
    char *text[MOST_VALUES];
};

/* A problem as a sentence, and its line. */
struct complaint {
    int line;
    char text[COMPLAINT_LENGTH]; /* "" if there is none */
};

/* Reads a setting as the key's row defines it, or complains. */
void values_read(const struct priomark_key *key, const config_setting_t *setting, struct values *values,
                 struct complaint *complaint);

/* The row's default. */
void values_standard(const struct priomark_key *key, struct values *values, struct complaint *complaint);

/* Notes that a key has no such name, and which it has. `name` may be NULL. */
void complain_unknown_name(const struct priomark_key *key, int line, const char *name, struct complaint *complaint);

void values_free(struct values *values);

/* Notes a problem, unless there is one already. */
void complain(struct complaint *complaint, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
