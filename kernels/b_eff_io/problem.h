/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong on one process, and how all processes of a partition learn of it. */
#ifndef B_EFF_IO_PROBLEM_H
#define B_EFF_IO_PROBLEM_H

#include <mpi.h>
#include <stdbool.h>

enum { PROBLEM_LENGTH = 1024 };

struct problem {
    int code;                  /* MPI error code, or MPI_SUCCESS */
    char text[PROBLEM_LENGTH]; /* "" if there is no problem */
};

/* Notes an MPI error, with a remedy if one is known; an earlier problem is kept. `what` failed. */
void note_problem(struct problem *problem, int code, const char *what);

/* Whether a process has a problem: all get the text of the lowest rank that has one. Collective over `comm`. */
bool agree_on_problem(MPI_Comm comm, struct problem *problem);

#endif
