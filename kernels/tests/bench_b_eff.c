/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges of b_eff between two processes as plain loops of MPI calls, with which bench_b_eff.py compares the
 * kernel. The messages walk through buffers of the same size in the same way, and received data is read between the
 * loops, as by b_eff's check, so that the caches are in the same state.
 *
 * mpirun -n 2 bench_b_eff BUFFER_BYTES PLAN
 *
 * PLAN is a file with a line "METHOD MESSAGE_BYTES EXCHANGES" for each loop. Prints a JSON list: seconds of the slower
 * process for each of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64, SHIFTS = 1024 };

struct buffers {
    char *send, *receive;
    size_t bytes, next;
    long loops;
};

struct message {
    char *send, *receive;
    int bytes;
};

static int rank, other;

static _Noreturn void give_up(void)
{
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void sendrecv(const struct message *m)
{
    MPI_Sendrecv(m->send, m->bytes, MPI_BYTE, other, 0, m->receive, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void nonblocking(const struct message *m)
{
    MPI_Request requests[2];
    MPI_Irecv(m->receive, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(m->send, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void alltoallv(const struct message *m)
{
    static const int offsets[2] = {0, 0};
    const int counts[2] = {rank == 0 ? 0 : m->bytes, rank == 0 ? m->bytes : 0};
    MPI_Alltoallv(m->send, counts, offsets, MPI_BYTE, m->receive, counts, offsets, MPI_BYTE, MPI_COMM_WORLD);
}

static void blocking(const struct message *m) /* one message each way, one after the other: a ping-pong */
{
    if (rank == 0)
        MPI_Send(m->send, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(m->receive, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(m->send, m->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*exchange)(const struct message *);
} methods[] = {{"sendrecv", sendrecv}, {"nonblocking", nonblocking}, {"alltoallv", alltoallv}, {"blocking", blocking}};

static void check_received(const char *received, size_t stride, long places, int bytes)
{
    for (long place = 0; place < places; place++)
        for (int i = 0; i < bytes; i++)
            if (received[(size_t)place * stride + (size_t)i] != 1 + other)
                MPI_Abort(MPI_COMM_WORLD, 3);
}

static double timed_loop(int method, struct message m, size_t stride, long places, long exchanges)
{
    const struct message first = m;
    void (*const exchange)(const struct message *) = methods[method].exchange;
    long place = 0;
    exchange(&m); /* untimed */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < exchanges; i++) {
        place = place + 1 < places ? place + 1 : 0;
        m.send = first.send + (size_t)place * stride;
        m.receive = first.receive + (size_t)place * stride;
        exchange(&m);
    }
    return MPI_Wtime() - start;
}

/* A loop begins where the last one ended, at the next cache line, or at the beginning if it does not fit there.
 * Messages have their natural alignment, up to a cache line. */
static double run_loop(struct buffers *buffers, int method, int bytes, long exchanges)
{
    size_t alignment = 1, start = (buffers->next + 63) / 64 * 64;
    while (alignment < 64 && alignment < (size_t)bytes)
        alignment *= 2;
    const size_t stride = ((size_t)bytes + alignment - 1) / alignment * alignment;
    if (start + stride * (size_t)(exchanges + 1) > buffers->bytes)
        start = 0;
    const long fitting = (long)((buffers->bytes - start) / stride),
               places = fitting < exchanges + 1 ? fitting : exchanges + 1;
    const struct message first = {buffers->send + start + 64 * (buffers->loops++ % SHIFTS), buffers->receive + start,
                                  bytes};
    buffers->next = start + stride * (size_t)places;
    double mine = timed_loop(method, first, stride, places, exchanges), slower;
    check_received(first.receive, stride, places, bytes);
    MPI_Allreduce(&mine, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slower;
}

static char *allocate(size_t bytes, int value)
{
    char *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory)
        give_up();
    memset(memory, value, bytes);
    return memory;
}

static int method_number(const char *name)
{
    for (int m = 0; m < (int)(sizeof methods / sizeof methods[0]); m++)
        if (strcmp(name, methods[m].name) == 0)
            return m;
    give_up();
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    FILE *plan = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!plan || ranks != 2)
        give_up();
    other = 1 - rank;
    struct buffers buffers = {.bytes = (size_t)atoll(argv[1])};
    buffers.send = allocate(buffers.bytes + 64 * SHIFTS, 1 + rank);
    buffers.receive = allocate(buffers.bytes, 0);

    char line[LINE_BYTES], name[LINE_BYTES];
    const char *separator = "[";
    while (fgets(line, sizeof line, plan)) {
        int bytes;
        long exchanges;
        if (sscanf(line, "%63s %d %ld", name, &bytes, &exchanges) != 3 || bytes < 1 || exchanges < 1)
            give_up();
        const double seconds = run_loop(&buffers, method_number(name), bytes, exchanges);
        if (rank == 0)
            printf("%s%.9f", separator, seconds);
        separator = ", ";
    }
    if (rank == 0)
        printf("]\n");
    fclose(plan);
    free(buffers.send);
    free(buffers.receive);
    MPI_Finalize();
    return 0;
}
