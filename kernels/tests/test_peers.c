/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper with more peers than it may have open files waits instead of trying forever; only the hard limit counts. It
 * counts a peer that has begun to end and has not ended, and reads what it is told before. */
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "peers.h"

enum { LONGEST_SECONDS = 20, TOO_FEW = 2 };

static int told[2];

static bool tell(void)
{
    return write(told[1], "", 1) != 1;
}

/* Its exit code is 0 if, with this limit of its open files, it first finds input and then the end of the peer, or finds
 * nothing, as expected. */
static pid_t start_keeper(const int input[2], int peer_file, const struct rlimit *limit, bool finds)
{
    char byte;
    const pid_t keeper = fork();
    if (keeper != 0)
        return keeper;
    alarm(LONGEST_SECONDS);
    close(input[1]);
    close(peer_file);
    setrlimit(RLIMIT_NOFILE, limit);
    const bool told_first = !finds || (!peers_watch(input[0], tell) && read(input[0], &byte, 1) == 1);
    _exit(!told_first || (peers_watch(input[0], finds ? tell : NULL) && peers_lost() == 0) != finds);
}

static int exit_code(pid_t process)
{
    int status;
    return waitpid(process, &status, 0) == process && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    int input[2] = {-1, -1}, count;
    char byte;
    struct rlimit limit = {0};
    MPI_Init(&argc, &argv);
    peers_begin(0);
    peers_adopt(peers_file());
    const int file = peers_all(&count)->pipe;
    CHECK(peers_file() >= 0 && file >= 0 && pipe(input) == 0 && pipe(told) == 0 &&
              getrlimit(RLIMIT_NOFILE, &limit) == 0,
          "no memory, pipe or limit");
    CHECK(file >= 1000, "the files of Hydra for 250 processes would close first");
    const struct rlimit hard = {TOO_FEW, TOO_FEW}, soft = {TOO_FEW, limit.rlim_max};
    CHECK(exit_code(start_keeper(input, file, &hard, false)) == 0, "found the end of a process that runs");
    const pid_t keeper = start_keeper(input, file, &soft, true);
    close(told[1]);
    CHECK(read(told[0], &byte, 1) == 1, "no look");
    kill(keeper, SIGSTOP); /* both come before it looks again */
    waitpid(keeper, NULL, WUNTRACED);
    CHECK(write(input[1], "", 1) == 1, "no input");
    close(file); /* as the kernel does when a process ends, before its other files */
    kill(keeper, SIGCONT);
    CHECK(exit_code(keeper) == 0, "did not find input and then a process that is ending");
    MPI_Finalize();
    return checks_status();
}
