/* SPDX-License-Identifier: Apache-2.0 */
/* See problem.h. */
#include "problem.h"

#include <stdio.h>

#include "mpi_io.h"

void note_problem(struct problem *problem, int code, const char *what)
{
    if (code != MPI_SUCCESS && !problem->text[0])
        snprintf(problem->text, PROBLEM_LENGTH, "cannot %s: %s", what,
                 mpi_io_error(code, "limit the run with --space-limit"));
}
