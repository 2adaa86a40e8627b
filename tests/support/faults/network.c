/* SPDX-License-Identifier: Apache-2.0 */
/* Between a kernel and its MPI library (loaded with LD_PRELOAD): a clock that tells the time of a network which is a
 * formula, and faults in chosen messages. What a kernel measures on that network can be computed by hand.
 *
 * MODEL_LATENCY, MODEL_BANDWIDTH   a message takes latency + bytes / bandwidth (seconds, byte/s); unset: the real clock
 * MODEL_SLOWDOWN                   and on rank r (1 + r * slowdown) times as long
 * MODEL_FACTOR_Sendrecv, ...       and with this call (its name without MPI_) so many times as long
 * FAULT_KIND                       flip: one bit of the received message; drop: it is not written at all
 * FAULT_CALL                       Sendrecv, Alltoallv, Waitall, Startall (Waitall on started requests),
 * Neighbor_alltoallv, Recv FAULT_BYTES, FAULT_RANK          of the message and its receiver FAULT_NUMBER how many such
 * messages are left alone before; only this one is struck FAULT_OFFSET                     of the flipped byte */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 1 << 16, SCRATCH_BYTES = 1 << 20, START_SECONDS = 1000 };

static double now_seconds = START_SECONDS;
static long struck_before;
static char scratch[SCRATCH_BYTES];

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

static int is_set_to(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
}

static int world_rank(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* --- the clock ---------------------------------------------------------------------------------------------------- */

double MPI_Wtime(void)
{
    return getenv("MODEL_LATENCY") ? now_seconds : PMPI_Wtime();
}

/* Sending and receiving go on at the same time, messages of one direction one after the other. */
static void spend(const char *call, int sent, int received, int bytes)
{
    char factor[64];
    const int messages = sent > received ? sent : received;
    snprintf(factor, sizeof factor, "MODEL_FACTOR_%s", call);
    now_seconds += messages * number(factor, 1) *
                   (number("MODEL_LATENCY", 0) + bytes / number("MODEL_BANDWIDTH", 1e30)) *
                   (1 + world_rank() * number("MODEL_SLOWDOWN", 0));
}

/* Rank 0 tells how long the run took on this network. */
int MPI_Finalize(void)
{
    if (getenv("MODEL_LATENCY") && world_rank() == 0)
        fprintf(stderr, "network: %.9f s\n", now_seconds - START_SECONDS);
    return PMPI_Finalize();
}

/* --- the faults --------------------------------------------------------------------------------------------------- */

/* Whether this is the message to strike. Only the kernel's own measured messages are bytes. */
static int strikes(const char *call, MPI_Datatype type, int bytes)
{
    return type == MPI_BYTE && bytes == (int)number("FAULT_BYTES", -1) && is_set_to("FAULT_CALL", call) &&
           world_rank() == (int)number("FAULT_RANK", 0) && struck_before++ == (long)number("FAULT_NUMBER", 0);
}

static void flip(void *message)
{
    if (is_set_to("FAULT_KIND", "flip"))
        ((char *)message)[(int)number("FAULT_OFFSET", 0)] ^= 4;
}

/* Where a message that is to be dropped goes instead. */
static void *diverted(void *message)
{
    return is_set_to("FAULT_KIND", "drop") ? scratch : message;
}

/* --- calls that receive at once ------------------------------------------------------------------------------------
 */

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    const int code = PMPI_Send(data, count, type, to, tag, comm);
    spend("Send", 1, 0, count);
    return code;
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    const int strike = strikes("Recv", type, count);
    const int code = PMPI_Recv(strike ? diverted(data) : data, count, type, from, tag, comm, status);
    if (strike)
        flip(data);
    spend("Recv", 0, 1, count);
    return code;
}

int MPI_Sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag, void *received,
                 int receive_count, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    const int strike = from != MPI_PROC_NULL && strikes("Sendrecv", receive_type, receive_count);
    const int code = PMPI_Sendrecv(sent, send_count, send_type, to, send_tag, strike ? diverted(received) : received,
                                   receive_count, receive_type, from, receive_tag, comm, status);
    if (strike)
        flip(received);
    spend("Sendrecv", to != MPI_PROC_NULL, from != MPI_PROC_NULL, receive_count);
    return code;
}

static int count_messages(const int *counts, int size, int *bytes)
{
    int messages = 0;
    for (int i = 0; i < size; i++)
        if (counts[i] > 0) {
            *bytes = counts[i];
            messages++;
        }
    return messages;
}

/* The first message of a collective call is the one that is struck. A dropped one: the rest is copied from aside. */
struct collective {
    const int *counts, *offsets;
    int size, first, strike;
    char *received;
};

static struct collective begin_collective(const char *call, MPI_Datatype type, const int *counts, const int *offsets,
                                          int size, void *received)
{
    struct collective collective = {counts, offsets, size, 0, 0, received};
    while (collective.first < size && counts[collective.first] == 0)
        collective.first++;
    collective.strike = collective.first < size && strikes(call, type, counts[collective.first]);
    return collective;
}

static void *place_of(const struct collective *collective)
{
    return collective->strike ? diverted(collective->received) : collective->received;
}

static void end_collective(const struct collective *collective)
{
    if (!collective->strike)
        return;
    flip(collective->received + collective->offsets[collective->first]);
    for (int i = collective->first + 1; i < collective->size && is_set_to("FAULT_KIND", "drop"); i++)
        memcpy(collective->received + collective->offsets[i], scratch + collective->offsets[i],
               (size_t)collective->counts[i]);
}

int MPI_Alltoallv(const void *sent, const int *send_counts, const int *send_offsets, MPI_Datatype send_type,
                  void *received, const int *receive_counts, const int *receive_offsets, MPI_Datatype receive_type,
                  MPI_Comm comm)
{
    int size, bytes = 0;
    PMPI_Comm_size(comm, &size);
    const struct collective collective =
        begin_collective("Alltoallv", receive_type, receive_counts, receive_offsets, size, received);
    const int code = PMPI_Alltoallv(sent, send_counts, send_offsets, send_type, place_of(&collective), receive_counts,
                                    receive_offsets, receive_type, comm);
    end_collective(&collective);
    const int outgoing = count_messages(send_counts, size, &bytes),
              incoming = count_messages(receive_counts, size, &bytes);
    spend("Alltoallv", outgoing, incoming, bytes);
    return code;
}

int MPI_Neighbor_alltoallv(const void *sent, const int *send_counts, const int *send_offsets, MPI_Datatype send_type,
                           void *received, const int *receive_counts, const int *receive_offsets,
                           MPI_Datatype receive_type, MPI_Comm comm)
{
    int incoming, outgoing, weighted;
    PMPI_Dist_graph_neighbors_count(comm, &incoming, &outgoing, &weighted);
    const struct collective collective =
        begin_collective("Neighbor_alltoallv", receive_type, receive_counts, receive_offsets, incoming, received);
    const int code = PMPI_Neighbor_alltoallv(sent, send_counts, send_offsets, send_type, place_of(&collective),
                                             receive_counts, receive_offsets, receive_type, comm);
    end_collective(&collective);
    spend("Neighbor_alltoallv", outgoing, incoming, send_counts[0]);
    return code;
}

/* --- requests: what they receive is known when they are made --------------------------------------------------------
 */

static struct remembered {
    MPI_Request request;
    char *data;
    int bytes, receives, persistent;
} remembered[REMEMBERED];
static long made;

static void remember(MPI_Request request, void *data, int bytes, int receives, int persistent)
{
    remembered[made++ % REMEMBERED] = (struct remembered){request, data, bytes, receives, persistent};
}

static const struct remembered *recall(MPI_Request request)
{
    for (long i = made - 1; i >= 0 && i >= made - REMEMBERED; i--)
        if (remembered[i % REMEMBERED].request == request)
            return &remembered[i % REMEMBERED];
    return NULL;
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int drop = is_set_to("FAULT_KIND", "drop") && strikes("Waitall", type, count);
    const int code = PMPI_Irecv(drop ? scratch : data, count, type, from, tag, comm, request);
    remember(*request, data, count, 1, 0);
    return code;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int code = PMPI_Isend(data, count, type, to, tag, comm, request);
    remember(*request, NULL, count, 0, 0);
    return code;
}

int MPI_Recv_init(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int drop = is_set_to("FAULT_KIND", "drop") && strikes("Startall", type, count);
    const int code = PMPI_Recv_init(drop ? scratch : data, count, type, from, tag, comm, request);
    remember(*request, data, count, 1, 1);
    return code;
}

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int code = PMPI_Send_init(data, count, type, to, tag, comm, request);
    remember(*request, NULL, count, 0, 1);
    return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
    int sent = 0, received = 0, bytes = 0;
    char *struck = NULL;
    for (int i = 0; i < count; i++) {
        const struct remembered *known = recall(requests[i]);
        if (!known)
            continue;
        bytes = known->bytes;
        sent += !known->receives;
        received += known->receives;
        if (known->receives && is_set_to("FAULT_KIND", "flip") &&
            strikes(known->persistent ? "Startall" : "Waitall", MPI_BYTE, known->bytes))
            struck = known->data;
    }
    const int code = PMPI_Waitall(count, requests, statuses);
    if (struck)
        flip(struck);
    if (received + sent > 0)
        spend("Waitall", sent, received, bytes);
    return code;
}
