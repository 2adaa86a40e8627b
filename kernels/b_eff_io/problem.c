/* SPDX-License-Identifier: Apache-2.0 */
/* See problem.h. */
#include "problem.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

static const char *remedy(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_NO_SPACE       ? "; free some space or limit the run with --space-limit"
           : class == MPI_ERR_QUOTA        ? "; the quota is used up: limit the run with --space-limit"
           : class == MPI_ERR_ACCESS       ? "; choose a directory that can be written with --directory"
           : class == MPI_ERR_NO_SUCH_FILE ? "; was the scratch directory removed?"
                                           : "";
}

void note_problem(struct problem *problem, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    if (code == MPI_SUCCESS || problem->text[0])
        return;
    problem->code = code;
    MPI_Error_string(code, text, &length);
    snprintf(problem->text, PROBLEM_LENGTH, "cannot %s: %.700s%s", what, text, remedy(code));
    for (char *at = problem->text; *at; at++)
        if (*at == '\n')
            *at = ' ';
}

bool agree_on_problem(MPI_Comm comm, struct problem *problem)
{
    int rank, first;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    const int mine = problem->text[0] ? rank : INT_MAX;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == INT_MAX)
        return false;
    if (rank == first) {
        char text[PROBLEM_LENGTH];
        memcpy(text, problem->text, sizeof text);
        snprintf(problem->text, PROBLEM_LENGTH, "rank %d: %.900s", rank, text);
    }
    MPI_CHECK(MPI_Bcast(problem->text, PROBLEM_LENGTH, MPI_CHAR, first, comm));
    return true;
}
