/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong on one process. */
#ifndef B_EFF_IO_PROBLEM_H
#define B_EFF_IO_PROBLEM_H

#include <mpi.h>

enum { PROBLEM_LENGTH = 1024 };

struct problem {
    char text[PROBLEM_LENGTH]; /* "" if there is no problem */
};

/* Notes an MPI error, with a remedy if one is known; an earlier problem is kept. `what` failed. */
void note_problem(struct problem *problem, int code, const char *what);

#endif
