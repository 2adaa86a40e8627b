/* SPDX-License-Identifier: Apache-2.0 */
/* A problem on one process, until all processes know of it. */
#pragma once

#include <mpi.h>

enum { PROBLEM_LENGTH = 1024 };

struct problem {
    char text[PROBLEM_LENGTH]; /* "" if there is no problem */
};

/* Notes an MPI error of the operation `what` with a remedy; an earlier problem is kept. */
void note_problem(struct problem *problem, int code, const char *what);
