/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into simulated builds only: the linker replaces other functions by these (--wrap, see CMakeLists.txt), so that
 * no kernel depends on them. They correct SimGrid's SMPI where it differs from a machine, and describe the simulated
 * node where memory.c and machine.c would describe the simulating one. */
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "activity.h"
#include "fail.h"
#include "memory.h"
#include "progress.h"

static const char *const memory_property = "memory_bytes"; /* of the platform file's hosts */

/* The ranks with a message; returns their number. */
static int list_partners(int size, const int *counts, int *ranks)
{
    int partners = 0;
    for (int rank = 0; rank < size; rank++)
        if (counts[rank] > 0)
            ranks[partners++] = rank;
    return partners;
}

/* SMPI sends empty messages as well, n * n of them in each call, which makes simulations of more than a hundred
 * processes too slow. MPI libraries send no empty messages. */
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
    const int receives = list_partners(size, receive_counts, sources),
              sends = list_partners(size, send_counts, targets);
    MPI_Request *requests = allocate((size_t)receives + (size_t)sends, sizeof *requests);
    for (int i = 0; i < receives && error == MPI_SUCCESS; i++)
        error = MPI_Irecv((char *)receive + receive_offsets[sources[i]] * receive_extent, receive_counts[sources[i]],
                          receive_type, sources[i], TAG, comm, &requests[started++]);
    for (int i = 0; i < sends && error == MPI_SUCCESS; i++)
        error = MPI_Isend((const char *)send + send_offsets[targets[i]] * send_extent, send_counts[targets[i]],
                          send_type, targets[i], TAG, comm, &requests[started++]);
    if (error == MPI_SUCCESS)
        error = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(sources);
    return error;
}

/* --- collectives: none is measured, and all processes of a simulation share their address space ------------------- */

int __real_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

/* Where all processes of a communicator meet: an attribute of it, created by its rank 0. */
struct meeting {
    sg_bar_t barrier;
    const void **shown; /* by each rank */
    void *result;       /* of a reduction */
};

static struct meeting *join_meeting(MPI_Comm comm, int *rank, int *size)
{
    static int key = MPI_KEYVAL_INVALID;
    struct meeting *meeting = NULL;
    int found;
    if (key == MPI_KEYVAL_INVALID)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_rank(comm, rank);
    MPI_Comm_size(comm, size);
    MPI_Comm_get_attr(comm, key, (void *)&meeting, &found);
    if (found)
        return meeting;
    if (*rank == 0) {
        meeting = allocate(1, sizeof *meeting);
        const void **shown = allocate((size_t)*size, sizeof *shown);
        *meeting = (struct meeting){.barrier = sg_barrier_init((unsigned)*size), .shown = shown};
    }
    MPI_CHECK(__real_MPI_Bcast(&meeting, sizeof meeting, MPI_BYTE, 0, comm));
    MPI_Comm_set_attr(comm, key, meeting);
    return meeting;
}

static size_t bytes_of(int count, MPI_Datatype type)
{
    int size;
    MPI_Type_size(type, &size);
    return (size_t)count * (size_t)size;
}

/* Processes leave the barrier before a timed loop at the same simulated instant. After a barrier that consists of
 * messages, they would be apart by some latencies, as long as a short loop. */
int __wrap_MPI_Barrier(MPI_Comm comm)
{
    int rank, size;
    sg_barrier_wait(join_meeting(comm, &rank, &size)->barrier);
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank, size;
    struct meeting *meeting = join_meeting(comm, &rank, &size);
    if (rank == root)
        meeting->shown[root] = buffer;
    sg_barrier_wait(meeting->barrier);
    if (rank != root)
        memcpy(buffer, meeting->shown[root], bytes_of(count, type));
    sg_barrier_wait(meeting->barrier); /* from now on the root may change its buffer */
    return MPI_SUCCESS;
}

/* In SMPI's own implementation, rank 0 searches for each message in the list of all messages: n * n steps. */
int __wrap_MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                      MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    int rank, size;
    (void)receive_count, (void)receive_type;
    struct meeting *meeting = join_meeting(comm, &rank, &size);
    meeting->shown[rank] = send;
    sg_barrier_wait(meeting->barrier);
    const size_t bytes = bytes_of(send_count, send_type);
    for (int from = 0; rank == root && from < size; from++)
        memcpy((char *)receive + (size_t)from * bytes, meeting->shown[from], bytes);
    sg_barrier_wait(meeting->barrier);
    return MPI_SUCCESS;
}

int __wrap_MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rank, size;
    struct meeting *meeting = join_meeting(comm, &rank, &size);
    const size_t bytes = bytes_of(count, type);
    meeting->shown[rank] = send == MPI_IN_PLACE ? receive : send;
    sg_barrier_wait(meeting->barrier);
    if (rank == 0) {
        meeting->result = allocate(1, bytes);
        memcpy(meeting->result, meeting->shown[0], bytes);
        for (int from = 1; from < size; from++)
            MPI_CHECK(MPI_Reduce_local(meeting->shown[from], meeting->result, count, type, op));
    }
    sg_barrier_wait(meeting->barrier);
    memcpy(receive, meeting->result, bytes);
    sg_barrier_wait(meeting->barrier);
    if (rank == 0)
        free(meeting->result);
    return MPI_SUCCESS;
}

/* --- the end of a run, the clock, and the simulated node --------------------------------------------------------- */

/* SMPI would end only the calling process, and smpirun would succeed. All processes of a simulation are in this one. */
int __wrap_MPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    _exit(status);
}

/* SMPI returns the precision of its solver of equations. Simulated time is more precise. */
double __wrap_MPI_Wtick(void)
{
    return 1e-9;
}

void __real_progress_show(double share, double elapsed_seconds, const char *what);

/* Who waits for a simulation waits in real time. smpicc replaces clock_gettime by simulated time. */
void __wrap_progress_show(double share, double elapsed_seconds, const char *what)
{
    static double started_seconds = -1;
    struct timespec now;
    (void)elapsed_seconds;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    const double now_seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (started_seconds < 0)
        started_seconds = now_seconds;
    __real_progress_show(share, now_seconds - started_seconds, what);
}

/* SimGrid's network model gives a message a share of a link in proportion to 1 / latency of its path. Shares are equal
 * only if all paths have the same latency. Checked: the paths from each process to the first and to the next one. */
static void refuse_unequal_latencies(void)
{
    int rank, size;
    sg_host_t self = sg_host_self(), others[2] = {self, self}; /* addresses: all processes share their address space */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_CHECK(MPI_Bcast(&others[0], sizeof self, MPI_BYTE, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Sendrecv(&self, sizeof self, MPI_BYTE, (rank + size - 1) % size, 0, &others[1], sizeof self, MPI_BYTE,
                           (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    double extremes[2] = {-INFINITY, -INFINITY}; /* the most, and the least times -1 */
    for (int i = 0; i < 2; i++) {
        if (others[i] == self)
            continue;
        const double latency = sg_host_get_route_latency(self, others[i]);
        extremes[0] = fmax(extremes[0], latency);
        extremes[1] = fmax(extremes[1], -latency);
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    if (extremes[0] + extremes[1] > 1e-12)
        refuse("paths of this platform have latencies from %g to %g us: SimGrid would share the bandwidth of a link in "
               "proportion to 1 / latency; give the links no latency, and put it into smpi/os, smpi/ois and smpi/or",
               -1e6 * extremes[1], 1e6 * extremes[0]);
}

static int64_t memory_of_host(void)
{
    const char *text = sg_host_get_property_value(sg_host_self(), memory_property);
    if (!text || atoll(text) <= 0)
        fail("the platform does not state the memory of a node: add <prop id=\"%s\" value=\"...\"/> to its hosts",
             memory_property);
    return atoll(text);
}

int64_t __wrap_node_memory_bytes(const char **source)
{
    refuse_unequal_latencies();
    *source = "physical";
    return memory_of_host();
}

int64_t __wrap_available_memory_bytes(void)
{
    return memory_of_host();
}

/* The processors of the simulating machine are irrelevant for the simulated one. */
struct processor_time __wrap_processor_time_now(void)
{
    return (struct processor_time){.known = false};
}

/* The simulation is one process, and its program is SimGrid's. */
void __wrap_keeper_start(void)
{
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

/* --- outside of a simulation ------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static long system_call(long number, long first, const void *second, long third)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static long system_call(long number, long first, const void *second, long third)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x2 __asm__("x2") = third;
    register const void *x1 __asm__("x1") = second;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#endif

/* smpicc links a library that smpirun loads. If a user starts it like a program, it begins here (--entry, see
 * CMakeLists.txt), where libc is not loaded: only the kernel can be called. */
#if defined(__x86_64__) || defined(__aarch64__)
void started_outside_a_simulation(void);
void started_outside_a_simulation(void)
{
    static const char message[] = "error: this kernel is built for simulations; start it with "
                                  "site_configs/simulated/run (docs/simulated.md)\n";
    system_call(SYS_write, STDERR_FILENO, message, sizeof message - 1);
    for (;;)
        system_call(SYS_exit, EXIT_REFUSED, NULL, 0);
}
#endif
