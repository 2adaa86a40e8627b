/* SPDX-License-Identifier: Apache-2.0 */
/* MPICH over UCX waits without ever giving up its core, so that more processes than cores take milliseconds for each
 * message. Loaded with LD_PRELOAD this gives the core away after some calls in vain; nothing else is changed.
 *
 * Open MPI gives it up with sched_yield() (mpi_yield_when_idle), after which a process that waits may run before one
 * that has something to do: it sleeps instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

enum { TRIES = 20 };

static void give_core_away(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}

int sched_yield(void)
{
    give_core_away();
    return 0;
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    static int in_vain;
    if (!progress)
        progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned events = progress(worker);
    in_vain = events ? 0 : in_vain + 1;
    if (in_vain > TRIES) {
        give_core_away();
        in_vain = 0;
    }
    return events;
}
