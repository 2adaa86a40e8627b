/* SPDX-License-Identifier: Apache-2.0 */
/* See problem.h. */
#include "problem.h"

#include <stdio.h>

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
    MPI_Error_string(code, text, &length);
    snprintf(problem->text, PROBLEM_LENGTH, "cannot %s: %.700s%s", what, text, remedy(code));
    for (char *at = problem->text; *at; at++)
        if (*at == '\n')
            *at = ' ';
}
