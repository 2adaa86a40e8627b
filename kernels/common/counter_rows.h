/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a node that a run reads before and after it: a row each. docs/counter-list.md has the same rows with
 * their units, wrap-around, permissions and sources; postprocess/logs/counter_kinds.py says what a difference means. */
#pragma once

#include <stdbool.h>

enum counter_form {
    FORM_NUMBER,  /* the file begins with the number */
    FORM_DEVICES, /* lines "NAME: number number ...": an instance each */
    FORM_LINE,    /* the last line that begins with the word `key` */
    FORM_MOUNTS /* /proc/self/mountstats: the line of each NFS mount that begins with `key`; a device is an instance */
};

enum counter_fold {
    FOLD_NONE, /* each instance is a counter of its own */
    FOLD_SUM,  /* of all instances, if all of them are numbers */
    FOLD_LOWEST,
    FOLD_HIGHEST /* of those that are numbers */
};

struct counter_row {
    const char *name;
    const char *files; /* glob(7) pattern below the root, with at most one `*` between two slashes */
    enum counter_form form;
    const char *key;
    int field; /* which word of the line, from 1 after its first one */
    enum counter_fold fold;
    const char *label;   /* file beside it whose text names the instance; NULL: there is none */
    const char *largest; /* file beside it with the number after which the counter begins again at 0; NULL: none */
    bool energy;         /* also read before and after the idle time */
};

/* Ended by a row without a name. */
extern const struct counter_row counter_rows[];
