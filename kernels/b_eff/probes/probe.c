/* SPDX-License-Identifier: Apache-2.0 */
/* See probe.h. */
#include "probe.h"

#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "gather.h"
#include "memory.h"

enum { COPIES = 5, MOST_COPIED_BYTES = 4 << 20 };
enum { BATCHES = 20, ROUND_TRIPS = 100, SPINS = 2000, CACHE_LINE = 64, OVER = -1 };
static const double most_seconds = 5e-3;

/* Yields, because processes that share a core would wait for the end of the other's time slice. */
static int wait_for_other_than(atomic_int *line, int unwanted)
{
    for (int spins = 0;; spins++) {
        const int value = atomic_load_explicit(line, memory_order_acquire);
        if (value != unwanted)
            return value;
        if (spins >= SPINS)
            sched_yield();
    }
}

/* Writes odd numbers and waits for even ones. Returns the best of several batches, because some may be interrupted. */
static double lead_round_trips(atomic_int *line)
{
    const double start = now_seconds();
    double best = INFINITY;
    int number = 0;
    for (int batch = 0; batch < BATCHES && (batch == 0 || now_seconds() - start < most_seconds); batch++) {
        const double batch_start = now_seconds();
        for (int i = 0; i < ROUND_TRIPS; i++) {
            atomic_store_explicit(line, ++number, memory_order_release);
            wait_for_other_than(line, number++);
        }
        best = fmin(best, (now_seconds() - batch_start) / ROUND_TRIPS);
    }
    atomic_store_explicit(line, OVER, memory_order_release);
    return best;
}

static void answer_round_trips(atomic_int *line)
{
    for (int last = 0;; last++) {
        last = wait_for_other_than(line, last);
        if (last == OVER)
            return;
        atomic_store_explicit(line, last + 1, memory_order_release);
    }
}

/* Processes 0 and 1, 2 and 3, ... of a node, all pairs at the same time; INFINITY for processes without a result. */
static double round_trip_seconds(MPI_Comm node)
{
    const int rank = rank_in(node), size = size_of(node);
    int bytes;
    MPI_Aint window_bytes;
    MPI_Win window;
    void *mine, *line;
    if (MPI_Win_allocate_shared(2 * CACHE_LINE, 1, MPI_INFO_NULL, node, &mine, &window) != MPI_SUCCESS)
        return INFINITY;
    double seconds = INFINITY;
    MPI_CHECK(MPI_Win_shared_query(window, rank - rank % 2, &window_bytes, &bytes, &line));
    line = (char *)line + (CACHE_LINE - (size_t)line % CACHE_LINE) % CACHE_LINE;
    if (rank % 2 == 0)
        atomic_store((atomic_int *)line, 0);
    MPI_CHECK(MPI_Barrier(node));
    if (rank % 2 == 1)
        answer_round_trips(line);
    else if (rank + 1 < size)
        seconds = lead_round_trips(line);
    MPI_CHECK(MPI_Win_free(&window));
    return seconds;
}

/* An object per node: the shortest and the longest round trip over the node's pairs of processes; null for a node with
 * one process, or without shared memory. */
static json_t *probe_cores(const struct run *run)
{
    MPI_Comm node = node_communicator(run->machine.leader);
    const double seconds = round_trip_seconds(node);
    /* the largest negative time is the shortest time */
    double mine[] = {isinf(seconds) ? -INFINITY : seconds, -seconds}, of_node[2];
    MPI_CHECK(MPI_Allreduce(mine, of_node, 2, MPI_DOUBLE, MPI_MAX, node));
    MPI_CHECK(MPI_Comm_free(&node));
    if (isinf(of_node[1]))
        return gather_from_nodes(run->machine.leader, json_null());
    return gather_from_nodes(run->machine.leader, OBJECT(field_real("shortest_round_trip_seconds", -of_node[1]),
                                                         field_real("longest_round_trip_seconds", of_node[0])));
}

static double copy_seconds(const struct buffers *buffers, size_t bytes, int number)
{
    const size_t start = (size_t)number % (buffers->bytes / bytes) * bytes;
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const double before = MPI_Wtime();
    memcpy(buffers->in[MEMORY_HOST].receive + start, buffers->in[MEMORY_HOST].send + start, bytes);
    return fmax(MPI_Wtime() - before, MPI_Wtick());
}

/* The time of the shortest copy on each node, which takes as long as the node's slowest process. All processes copy at
 * the same time from their send buffer to their receive buffer, each time at another place. */
static json_t *probe_copies(const struct run *run, const struct buffers *buffers, size_t bytes, int first)
{
    double mine[COPIES], of_node[COPIES], shortest = INFINITY;
    for (int i = 0; i < COPIES; i++)
        mine[i] = copy_seconds(buffers, bytes, first + i);
    MPI_Comm node = node_communicator(run->machine.leader);
    MPI_CHECK(MPI_Allreduce(mine, of_node, COPIES, MPI_DOUBLE, MPI_MAX, node));
    MPI_CHECK(MPI_Comm_free(&node));
    for (int i = 0; i < COPIES; i++)
        shortest = fmin(shortest, of_node[i]);
    return gather_from_nodes(run->machine.leader, json_real(shortest));
}

void probe_nodes(const struct run *run, const struct buffers *buffers, int repetition)
{
    if (!buffers_hold_data)
        return;
    json_t *hosts = probe_cores(run);
    if (run->log)
        log_write(run->log, "probe", OBJECT(field_int("repetition", repetition), field_json("hosts", hosts)));
    if (!buffers->in[MEMORY_HOST].receive)
        return;
    const size_t bytes = buffers->bytes < MOST_COPIED_BYTES ? buffers->bytes : MOST_COPIED_BYTES;
    json_t *seconds = probe_copies(run, buffers, bytes, (repetition - 1) * COPIES);
    if (run->log)
        log_write(run->log, "memory_copy",
                  OBJECT(field_int("repetition", repetition), field_int("copied_bytes", bytes),
                         field_json("seconds", seconds)));
}
