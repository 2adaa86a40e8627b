/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper with more peers than it may have open files waits instead of trying forever. */
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "peers.h"

int main(int argc, char **argv)
{
    int ends[2] = {-1, -1};
    struct rlimit limit = {0}, low = {.rlim_cur = 2};
    MPI_Init(&argc, &argv);
    peers_begin(0);
    peers_adopt(peers_file());
    CHECK(peers_file() >= 0 && pipe(ends) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0, "no memory, pipe or limit");
    low.rlim_max = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &low); /* the input, the launcher and this process are three */
    alarm(20);
    CHECK(!peers_watch(ends[0]), "found the end of a process that runs");
    setrlimit(RLIMIT_NOFILE, &limit);
    MPI_Finalize();
    return checks_status();
}
