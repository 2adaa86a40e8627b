/* SPDX-License-Identifier: Apache-2.0 */
/* Only with COFFEECUP_COVERAGE: gcov writes its counts in exit(). Processes that end in another way write them here. */
#include <mpi.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
int __real_MPI_Abort(MPI_Comm comm, int status);

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_MPI_Abort(MPI_Comm comm, int status)
{
    __gcov_dump();
    return __real_MPI_Abort(comm, status);
}
