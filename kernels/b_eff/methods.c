/* SPDX-License-Identifier: Apache-2.0 */
/* See methods.h. */
#include "methods.h"

#include <stdlib.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"

enum { TAG = 1, PERSISTENT_PLACES = 4096 };

static char *slot(char *base, const struct walk *walk, long place, int transfer)
{
    return base + (size_t)place * walk->step + (size_t)transfer * walk->stride;
}

static void nothing(struct exchange *exchange, const struct walk *walk)
{
    (void)exchange, (void)walk;
}

static bool is_not_ping_pong(const struct pattern *pattern)
{
    return pattern->group != GROUP_PING_PONG;
}

static bool is_ping_pong(const struct pattern *pattern)
{
    return pattern->group == GROUP_PING_PONG;
}

/* --- MPI_Sendrecv: one transfer after the other, and one direction after the other if processes take turns -------- */

static void send_and_receive(struct exchange *exchange, const struct walk *walk, long place, int transfer, int to,
                             int from)
{
    MPI_CHECK(MPI_Sendrecv(slot(walk->send, walk, place, transfer), walk->bytes, MPI_BYTE, to, TAG,
                           slot(walk->receive, walk, place, transfer), walk->bytes, MPI_BYTE, from, TAG, exchange->comm,
                           MPI_STATUS_IGNORE));
}

static void exchange_sendrecv(struct exchange *exchange, const struct walk *walk, long place)
{
    const long before = atomic_load_explicit(exchange->received, memory_order_relaxed);
    for (int j = 0; j < exchange->transfers; j++) {
        const struct transfer transfer = exchange->transfer[j];
        if (!exchange->takes_turns) {
            send_and_receive(exchange, walk, place, j, transfer.to, transfer.from);
        } else if (exchange->position == 0) {
            send_and_receive(exchange, walk, place, j, transfer.to, MPI_PROC_NULL);
            send_and_receive(exchange, walk, place, j, MPI_PROC_NULL, transfer.from);
        } else {
            send_and_receive(exchange, walk, place, j, MPI_PROC_NULL, transfer.from);
            send_and_receive(exchange, walk, place, j, transfer.to, MPI_PROC_NULL);
        }
        atomic_store_explicit(exchange->received, before + j + 1, memory_order_relaxed);
    }
}

/* --- MPI_Alltoallv on the pattern's communicator ------------------------------------------------------------------ */

static void prepare_alltoallv(struct exchange *exchange, const struct walk *walk)
{
    int *send_counts = exchange->counts, *send_offsets = send_counts + exchange->size;
    int *receive_counts = send_offsets + exchange->size, *receive_offsets = receive_counts + exchange->size;
    for (int j = 0; j < exchange->transfers; j++) {
        const int offset = (int)((size_t)j * walk->stride);
        send_counts[exchange->transfer[j].to] = walk->bytes;
        send_offsets[exchange->transfer[j].to] = offset;
        receive_counts[exchange->transfer[j].from] = walk->bytes;
        receive_offsets[exchange->transfer[j].from] = offset;
    }
}

static void exchange_alltoallv(struct exchange *exchange, const struct walk *walk, long place)
{
    const int size = exchange->size;
    const int *counts = exchange->counts;
    MPI_CHECK(MPI_Alltoallv(slot(walk->send, walk, place, 0), counts, counts + size, MPI_BYTE,
                            slot(walk->receive, walk, place, 0), counts + 2 * size, counts + 3 * size, MPI_BYTE,
                            exchange->comm));
}

/* --- MPI_Irecv, MPI_Isend, MPI_Waitall: all transfers at once ----------------------------------------------------- */

static void exchange_nonblocking(struct exchange *exchange, const struct walk *walk, long place)
{
    MPI_Request requests[2 * MOST_TRANSFERS];
    int count = 0;
    for (int j = 0; j < exchange->transfers; j++)
        MPI_CHECK(MPI_Irecv(slot(walk->receive, walk, place, j), walk->bytes, MPI_BYTE, exchange->transfer[j].from, TAG,
                            exchange->comm, &requests[count++]));
    for (int j = 0; j < exchange->transfers; j++)
        MPI_CHECK(MPI_Isend(slot(walk->send, walk, place, j), walk->bytes, MPI_BYTE, exchange->transfer[j].to, TAG,
                            exchange->comm, &requests[count++]));
    MPI_CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

/* --- MPI-3 neighbourhood collective, if the library has it -------------------------------------------------------- */

#if HAVE_MPI_NEIGHBORHOODS

static void make_graph(struct exchange *exchange)
{
    static const int weight[MOST_TRANSFERS] = {1, 1, 1, 1, 1, 1};
    int source[MOST_TRANSFERS], target[MOST_TRANSFERS];
    for (int j = 0; j < exchange->transfers; j++) {
        source[j] = exchange->transfer[j].from;
        target[j] = exchange->transfer[j].to;
    }
    MPI_CHECK(MPI_Dist_graph_create_adjacent(exchange->comm, exchange->transfers, source, weight, exchange->transfers,
                                             target, weight, MPI_INFO_NULL, 0, &exchange->graph));
}

static void prepare_neighbor(struct exchange *exchange, const struct walk *walk)
{
    if (exchange->graph == MPI_COMM_NULL)
        make_graph(exchange);
    for (int j = 0; j < exchange->transfers; j++) {
        exchange->graph_counts[j] = walk->bytes;
        exchange->graph_offsets[j] = (int)((size_t)j * walk->stride);
    }
}

static void exchange_neighbor(struct exchange *exchange, const struct walk *walk, long place)
{
    MPI_CHECK(MPI_Neighbor_alltoallv(slot(walk->send, walk, place, 0), exchange->graph_counts, exchange->graph_offsets,
                                     MPI_BYTE, slot(walk->receive, walk, place, 0), exchange->graph_counts,
                                     exchange->graph_offsets, MPI_BYTE, exchange->graph));
}
#endif

/* --- persistent requests: one set per place, so that these messages walk through memory as well ------------------- */

static void prepare_persistent(struct exchange *exchange, const struct walk *walk)
{
    exchange->started = allocate((size_t)walk->places * 2 * MOST_TRANSFERS, sizeof *exchange->started);
    MPI_Request *next = exchange->started;
    for (long place = 0; place < walk->places; place++) {
        for (int j = 0; j < exchange->transfers; j++)
            MPI_CHECK(MPI_Recv_init(slot(walk->receive, walk, place, j), walk->bytes, MPI_BYTE,
                                    exchange->transfer[j].from, TAG, exchange->comm, next++));
        for (int j = 0; j < exchange->transfers; j++)
            MPI_CHECK(MPI_Send_init(slot(walk->send, walk, place, j), walk->bytes, MPI_BYTE, exchange->transfer[j].to,
                                    TAG, exchange->comm, next++));
    }
    exchange->requests = (int)((next - exchange->started) / walk->places);
}

static void exchange_persistent(struct exchange *exchange, const struct walk *walk, long place)
{
    (void)walk;
    MPI_Request *requests = exchange->started + place * exchange->requests;
    MPI_CHECK(MPI_Startall(exchange->requests, requests));
    MPI_CHECK(MPI_Waitall(exchange->requests, requests, MPI_STATUSES_IGNORE));
}

static void clean_persistent(struct exchange *exchange, const struct walk *walk)
{
    for (long i = 0; i < walk->places * exchange->requests; i++)
        MPI_CHECK(MPI_Request_free(&exchange->started[i]));
    free(exchange->started);
    exchange->started = NULL;
}

/* --- MPI_Send and MPI_Recv: for the ping-pong --------------------------------------------------------------------- */

static void send_message(struct exchange *exchange, const struct walk *walk, long place)
{
    MPI_CHECK(MPI_Send(slot(walk->send, walk, place, 0), walk->bytes, MPI_BYTE, exchange->transfer[0].to, TAG,
                       exchange->comm));
}

static void receive_message(struct exchange *exchange, const struct walk *walk, long place)
{
    MPI_CHECK(MPI_Recv(slot(walk->receive, walk, place, 0), walk->bytes, MPI_BYTE, exchange->transfer[0].from, TAG,
                       exchange->comm, MPI_STATUS_IGNORE));
}

static void exchange_blocking(struct exchange *exchange, const struct walk *walk, long place)
{
    if (exchange->position == 0) {
        send_message(exchange, walk, place);
        receive_message(exchange, walk, place);
    } else {
        receive_message(exchange, walk, place);
        send_message(exchange, walk, place);
    }
}

const struct method methods[METHODS + 1] = {
    {"sendrecv", true, true, 0, is_not_ping_pong, nothing, exchange_sendrecv, nothing},
    {"alltoallv", true, false, 0, is_not_ping_pong, prepare_alltoallv, exchange_alltoallv, nothing},
    [METHOD_NONBLOCKING] = {"nonblocking", true, false, 0, is_not_ping_pong, nothing, exchange_nonblocking, nothing},
#if HAVE_MPI_NEIGHBORHOODS
    {"neighbor", false, false, 0, is_not_ping_pong, prepare_neighbor, exchange_neighbor, nothing},
#endif
    {"persistent", false, false, PERSISTENT_PLACES, is_not_ping_pong, prepare_persistent, exchange_persistent,
     clean_persistent},
    [METHOD_BLOCKING] = {"blocking", false, false, 0, is_ping_pong, nothing, exchange_blocking, nothing},
};

/* --- preparation of a pattern ------------------------------------------------------------------------------------- */

static void open_part(struct exchange *exchange, const struct layout *layout)
{
    exchange->position = layout->position;
    exchange->takes_turns = layout->takes_turns;
    exchange->transfers = layout->transfers;
    for (int j = 0; j < layout->transfers; j++)
        exchange->transfer[j] = layout->transfer[j];
    exchange->size = size_of(exchange->comm);
    exchange->counts = allocate(4 * (size_t)exchange->size, sizeof *exchange->counts);
}

/* The world rank of the sender of each transfer, received from the sender, so that no rank requires a table of all. */
static void learn_sources(struct exchange *exchange, int rank)
{
    for (int j = 0; j < exchange->transfers; j++)
        MPI_CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, exchange->transfer[j].to, TAG, &exchange->source[j], 1, MPI_INT,
                               exchange->transfer[j].from, TAG, exchange->comm, MPI_STATUS_IGNORE));
}

struct exchange exchange_open(const struct pattern *pattern, MPI_Comm all, uint64_t seed, int *order)
{
    const struct layout layout = pattern_layout(pattern, size_of(all), rank_in(all), seed, order);
    struct exchange exchange = {.pattern = pattern, .all = all, .graph = MPI_COMM_NULL};

    MPI_CHECK(MPI_Comm_split(all, layout.color < 0 ? MPI_UNDEFINED : layout.color, layout.position, &exchange.comm));
    if (exchange.comm != MPI_COMM_NULL)
        open_part(&exchange, &layout);
    learn_sources(&exchange, rank_in(MPI_COMM_WORLD));

    /* all ranks use the same layout of messages, whatever ring they are in */
    MPI_CHECK(MPI_Allreduce(&exchange.transfers, &exchange.slots, 1, MPI_INT, MPI_MAX, all));
    return exchange;
}

void exchange_close(struct exchange *exchange)
{
    if (exchange->comm == MPI_COMM_NULL)
        return;
    if (exchange->graph != MPI_COMM_NULL)
        MPI_CHECK(MPI_Comm_free(&exchange->graph));
    free(exchange->counts);
    MPI_CHECK(MPI_Comm_free(&exchange->comm));
}
