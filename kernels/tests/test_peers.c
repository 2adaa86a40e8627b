/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper with more peers than it may have open files waits instead of trying forever. It counts a peer that has begun
 * to end and has not ended. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "peers.h"

enum { LONGEST_SECONDS = 20 };

static struct {
    pthread_t main_thread;
    pid_t keeper;
    int write_end; /* of the keeper's input */
} test;

/* A process whose first thread has ended while another one runs has begun to end. */
static void *outlive_main_thread(void *unused)
{
    int status;
    (void)unused;
    pthread_join(test.main_thread, NULL);
    close(test.write_end);
    CHECK(waitpid(test.keeper, &status, 0) == test.keeper && status == 0, "did not find a process that is ending");
    exit(checks_status());
}

static pid_t start_keeper(const int input[2])
{
    const pid_t keeper = fork();
    if (keeper != 0)
        return keeper;
    alarm(LONGEST_SECONDS);
    close(input[1]);
    _exit(peers_watch(input[0], NULL) && peers_lost() == 0 ? 0 : 1);
}

int main(int argc, char **argv)
{
    int input[2] = {-1, -1};
    struct rlimit limit = {0}, low = {.rlim_cur = 2};
    pthread_t thread;
    MPI_Init(&argc, &argv);
    peers_begin(0);
    peers_adopt(peers_file());
    CHECK(peers_file() >= 0 && pipe(input) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0, "no memory, pipe or limit");
    test.keeper = start_keeper(input);
    low.rlim_max = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &low); /* the input, the launcher and this process are three */
    alarm(LONGEST_SECONDS);
    CHECK(!peers_watch(input[0], NULL), "found the end of a process that runs");
    setrlimit(RLIMIT_NOFILE, &limit);
    MPI_Finalize();
    test.main_thread = pthread_self();
    test.write_end = input[1];
    CHECK(pthread_create(&thread, NULL, outlive_main_thread, NULL) == 0, "no thread");
    pthread_exit(NULL);
}
