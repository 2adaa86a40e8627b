/* Linked into simulated builds only, and only by name: the linker puts these functions in the place of others (--wrap,
 * see CMakeLists.txt), so that no kernel knows of them. They mend what SimGrid's SMPI does otherwise than a machine, and
 * tell of the simulated node what memory.c and machine.c would find out about the machine that simulates. */
#include <mpi.h>
#include <sched.h>
#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "activity.h"
#include "fail.h"
#include "memory.h"

static const char *const memory_property = "memory_bytes"; /* of the platform file's hosts */

static int find_requests(int size, const int *counts, int *ranks)
{
    int found = 0;
    for (int rank = 0; rank < size; rank++)
        if (counts[rank] > 0)
            ranks[found++] = rank;
    return found;
}

/* SMPI sends empty messages as well, n * n of them in each call: simulating more than a hundred processes would be
 * hopeless. MPI libraries send none that carry nothing. */
int __wrap_MPI_Alltoallv(const void *send, const int *send_counts, const int *send_offsets, MPI_Datatype send_type,
                         void *receive, const int *receive_counts, const int *receive_offsets,
                         MPI_Datatype receive_type, MPI_Comm comm)
{
    enum { TAG = 1 };
    int size, error = MPI_SUCCESS, started = 0;
    MPI_Aint lower, send_extent, receive_extent;
    MPI_Comm_size(comm, &size);
    MPI_Type_get_extent(send_type, &lower, &send_extent);
    MPI_Type_get_extent(receive_type, &lower, &receive_extent);
    int *sources = allocate(2 * (size_t)size, sizeof *sources), *targets = sources + size;
    const int receives = find_requests(size, receive_counts, sources), sends = find_requests(size, send_counts, targets);
    MPI_Request *requests = allocate((size_t)receives + (size_t)sends, sizeof *requests);
    for (int i = 0; i < receives && error == MPI_SUCCESS; i++)
        error = MPI_Irecv((char *)receive + receive_offsets[sources[i]] * receive_extent, receive_counts[sources[i]],
                          receive_type, sources[i], TAG, comm, &requests[started++]);
    for (int i = 0; i < sends && error == MPI_SUCCESS; i++)
        error = MPI_Isend((const char *)send + send_offsets[targets[i]] * send_extent, send_counts[targets[i]], send_type,
                          targets[i], TAG, comm, &requests[started++]);
    if (error == MPI_SUCCESS)
        error = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(sources);
    return error;
}

int __real_MPI_Barrier(MPI_Comm comm);

/* Processes leave the barrier before a timed loop at the same simulated instant. After a barrier made of messages they
 * would leave it up to some latencies apart, which is as much as a short loop takes. All processes of a simulation share
 * their address space, so the address of SimGrid's barrier is all that they have to know. */
int __wrap_MPI_Barrier(MPI_Comm comm)
{
    static sg_bar_t meeting;
    int rank, size;
    if (comm != MPI_COMM_WORLD)
        return __real_MPI_Barrier(comm);
    if (!meeting) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        if (rank == 0)
            meeting = sg_barrier_init((unsigned)size);
        MPI_CHECK(MPI_Bcast(&meeting, sizeof meeting, MPI_BYTE, 0, comm));
    }
    sg_barrier_wait(meeting);
    return MPI_SUCCESS;
}

/* SMPI ends the calling process only, and smpirun with success. All processes of a simulation are in this one. */
int __wrap_MPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    _exit(status);
}

/* SMPI tells the precision of its solver of equations. Simulated time itself is exact to what smpirun asks for. */
double __wrap_MPI_Wtick(void)
{
    return 1e-9;
}

int64_t __wrap_node_memory_bytes(const char **source)
{
    const char *text = sg_host_get_property_value(sg_host_self(), memory_property);
    *source = "physical";
    if (!text || atoll(text) <= 0)
        fail("the platform does not tell the memory of a node: give its hosts <prop id=\"%s\" value=\"...\"/>",
             memory_property);
    return atoll(text);
}

int64_t __wrap_available_memory_bytes(void)
{
    const char *source;
    return __wrap_node_memory_bytes(&source);
}

/* The processors of the simulating machine have nothing to do with the simulated one. */
struct processor_time __wrap_processor_time_now(void)
{
    return (struct processor_time){.known = false};
}

/* The simulation is one process, and its program is SimGrid's. */
void __wrap_keeper_start(int log)
{
    (void)log;
}

int __wrap_get_nprocs(void)
{
    return sg_host_core_count(sg_host_self());
}

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *cores)
{
    (void)process;
    CPU_ZERO_S(bytes, cores);
    for (int core = 0; core < sg_host_core_count(sg_host_self()); core++)
        CPU_SET_S((size_t)core, bytes, cores);
    return 0;
}
