/* SPDX-License-Identifier: Apache-2.0 */
/* Between a kernel and its MPI library (loaded with LD_PRELOAD): MPI_Sendrecv really takes WAIT_FACTOR times as long,
 * or WAIT_SECONDS more, by waiting after the call. */
#include <mpi.h>
#include <stdlib.h>

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag, void *received,
                 int received_count, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    const char *factor = getenv("WAIT_FACTOR"), *seconds = getenv("WAIT_SECONDS");
    const double begin = PMPI_Wtime();
    const int result = PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, received, received_count, received_type,
                                     from, received_tag, comm, status);
    const double end = PMPI_Wtime();
    while (PMPI_Wtime() - end < (factor ? (atof(factor) - 1) * (end - begin) : atof(seconds)))
        ;
    return result;
}
