/* SPDX-License-Identifier: Apache-2.0 */
/* What one key of a workload says: its values, each checked against the key's row. */
#ifndef PRIOMARK_VALUES_H
#define PRIOMARK_VALUES_H

#include <libconfig.h>

#include "priomark.h"

enum { MOST_VALUES = 64, COMPLAINT_LENGTH = 512 };

struct values {
    int line, count; /* line 0: the workload is silent, and the standard holds */
    int64_t number[MOST_VALUES];
    double share[MOST_VALUES];
    char *text[MOST_VALUES];
};

/* A sentence, and the line that it is about. */
struct complaint {
    int line;
    char text[COMPLAINT_LENGTH]; /* "" where all is well */
};

/* Reads a setting as the key's row wants it, or complains. */
void values_read(const struct priomark_key *key, const config_setting_t *setting, struct values *values,
                 struct complaint *complaint);

/* The row's own standard; it is part of the program, but a plug-in's may be wrong. */
void values_standard(const struct priomark_key *key, struct values *values, struct complaint *complaint);

void values_free(struct values *values);

/* Writes a complaint once: the first one stands. */
void complain(struct complaint *complaint, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
