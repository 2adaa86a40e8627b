/* See methods.h. */
#include "methods.h"

#include <stdlib.h>

#include "fail.h"

enum { TAG = 1, PERSISTENT_PLACES = 4096 };

static char *slot(char *base, const struct walk *walk, long place, int transfer)
{
    return base + (size_t)place * walk->step + (size_t)transfer * walk->stride;
}

static void nothing(struct stage *stage, const struct walk *walk)
{
    (void)stage, (void)walk;
}

static bool is_not_ping_pong(const struct pattern *pattern)
{
    return pattern->group != GROUP_PING_PONG;
}

static bool is_ping_pong(const struct pattern *pattern)
{
    return pattern->group == GROUP_PING_PONG;
}

/* --- MPI_Sendrecv: one transfer after the other ------------------------------------------------------------------ */

static void exchange_sendrecv(struct stage *stage, const struct walk *walk, long place)
{
    for (int j = 0; j < stage->transfers; j++)
        MPI_CHECK(MPI_Sendrecv(slot(walk->send, walk, place, j), walk->bytes, MPI_BYTE, stage->transfer[j].to, TAG,
                               slot(walk->receive, walk, place, j), walk->bytes, MPI_BYTE, stage->transfer[j].from,
                               TAG, stage->comm, MPI_STATUS_IGNORE));
}

/* --- MPI_Alltoallv on the pattern's communicator ------------------------------------------------------------------ */

static void prepare_alltoallv(struct stage *stage, const struct walk *walk)
{
    int *send_counts = stage->counts, *send_offsets = send_counts + stage->size;
    int *receive_counts = send_offsets + stage->size, *receive_offsets = receive_counts + stage->size;
    for (int j = 0; j < stage->transfers; j++) {
        const int offset = (int)((size_t)j * walk->stride);
        if (stage->transfer[j].to != MPI_PROC_NULL) {
            send_counts[stage->transfer[j].to] = walk->bytes;
            send_offsets[stage->transfer[j].to] = offset;
        }
        if (stage->transfer[j].from != MPI_PROC_NULL) {
            receive_counts[stage->transfer[j].from] = walk->bytes;
            receive_offsets[stage->transfer[j].from] = offset;
        }
    }
}

static void exchange_alltoallv(struct stage *stage, const struct walk *walk, long place)
{
    const int size = stage->size;
    const int *counts = stage->counts;
    MPI_CHECK(MPI_Alltoallv(slot(walk->send, walk, place, 0), counts, counts + size, MPI_BYTE,
                            slot(walk->receive, walk, place, 0), counts + 2 * size, counts + 3 * size, MPI_BYTE,
                            stage->comm));
}

/* --- MPI_Irecv, MPI_Isend, MPI_Waitall: all transfers at once ------------------------------------------------------ */

static void exchange_nonblocking(struct stage *stage, const struct walk *walk, long place)
{
    MPI_Request requests[2 * MOST_TRANSFERS];
    int count = 0;
    for (int j = 0; j < stage->transfers; j++)
        if (stage->transfer[j].from != MPI_PROC_NULL)
            MPI_CHECK(MPI_Irecv(slot(walk->receive, walk, place, j), walk->bytes, MPI_BYTE, stage->transfer[j].from,
                                TAG, stage->comm, &requests[count++]));
    for (int j = 0; j < stage->transfers; j++)
        if (stage->transfer[j].to != MPI_PROC_NULL)
            MPI_CHECK(MPI_Isend(slot(walk->send, walk, place, j), walk->bytes, MPI_BYTE, stage->transfer[j].to, TAG,
                                stage->comm, &requests[count++]));
    MPI_CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

/* --- MPI-3 neighbourhood collective, where the library has it ------------------------------------------------------- */

#if HAVE_MPI_NEIGHBORHOODS

static void make_graph(struct stage *stage)
{
    static const int weight[MOST_TRANSFERS] = {1, 1, 1, 1, 1, 1};
    int sources = 0, targets = 0, source[MOST_TRANSFERS], target[MOST_TRANSFERS];
    for (int j = 0; j < stage->transfers; j++) {
        if (stage->transfer[j].from != MPI_PROC_NULL)
            source[sources++] = stage->transfer[j].from;
        if (stage->transfer[j].to != MPI_PROC_NULL)
            target[targets++] = stage->transfer[j].to;
    }
    MPI_CHECK(MPI_Dist_graph_create_adjacent(stage->comm, sources, source, weight, targets, target, weight,
                                             MPI_INFO_NULL, 0, &stage->graph));
}

static void prepare_neighbor(struct stage *stage, const struct walk *walk)
{
    int sources = 0, targets = 0;
    if (stage->graph == MPI_COMM_NULL)
        make_graph(stage);
    for (int j = 0; j < stage->transfers; j++) {
        const int offset = (int)((size_t)j * walk->stride);
        stage->graph_counts[j] = walk->bytes;
        if (stage->transfer[j].from != MPI_PROC_NULL)
            stage->graph_receive_offsets[sources++] = offset;
        if (stage->transfer[j].to != MPI_PROC_NULL)
            stage->graph_send_offsets[targets++] = offset;
    }
}

static void exchange_neighbor(struct stage *stage, const struct walk *walk, long place)
{
    MPI_CHECK(MPI_Neighbor_alltoallv(slot(walk->send, walk, place, 0), stage->graph_counts, stage->graph_send_offsets,
                                     MPI_BYTE, slot(walk->receive, walk, place, 0), stage->graph_counts,
                                     stage->graph_receive_offsets, MPI_BYTE, stage->graph));
}
#endif

/* --- persistent requests: one set per place, so that these messages walk through memory as well -------------------- */

static void prepare_persistent(struct stage *stage, const struct walk *walk)
{
    stage->started = malloc((size_t)walk->places * 2 * MOST_TRANSFERS * sizeof *stage->started);
    if (!stage->started)
        fail("out of memory for %ld sets of persistent requests", walk->places);
    MPI_Request *next = stage->started;
    for (long place = 0; place < walk->places; place++) {
        for (int j = 0; j < stage->transfers; j++)
            if (stage->transfer[j].from != MPI_PROC_NULL)
                MPI_CHECK(MPI_Recv_init(slot(walk->receive, walk, place, j), walk->bytes, MPI_BYTE,
                                        stage->transfer[j].from, TAG, stage->comm, next++));
        for (int j = 0; j < stage->transfers; j++)
            if (stage->transfer[j].to != MPI_PROC_NULL)
                MPI_CHECK(MPI_Send_init(slot(walk->send, walk, place, j), walk->bytes, MPI_BYTE,
                                        stage->transfer[j].to, TAG, stage->comm, next++));
    }
    stage->requests = (int)((next - stage->started) / walk->places);
}

static void exchange_persistent(struct stage *stage, const struct walk *walk, long place)
{
    (void)walk;
    MPI_Request *requests = stage->started + place * stage->requests;
    MPI_CHECK(MPI_Startall(stage->requests, requests));
    MPI_CHECK(MPI_Waitall(stage->requests, requests, MPI_STATUSES_IGNORE));
}

static void clean_persistent(struct stage *stage, const struct walk *walk)
{
    for (long i = 0; i < walk->places * stage->requests; i++)
        MPI_CHECK(MPI_Request_free(&stage->started[i]));
    free(stage->started);
    stage->started = NULL;
}

/* --- MPI_Send and MPI_Recv: for the ping-pong, whose stages go one way each ----------------------------------------- */

static void exchange_blocking(struct stage *stage, const struct walk *walk, long place)
{
    if (stage->transfer[0].to != MPI_PROC_NULL)
        MPI_CHECK(MPI_Send(slot(walk->send, walk, place, 0), walk->bytes, MPI_BYTE, stage->transfer[0].to, TAG,
                           stage->comm));
    else
        MPI_CHECK(MPI_Recv(slot(walk->receive, walk, place, 0), walk->bytes, MPI_BYTE, stage->transfer[0].from, TAG,
                           stage->comm, MPI_STATUS_IGNORE));
}

const struct method methods[METHODS] = {
    {"sendrecv", true, 0, is_not_ping_pong, nothing, exchange_sendrecv, nothing},
    {"alltoallv", true, 0, is_not_ping_pong, prepare_alltoallv, exchange_alltoallv, nothing},
    {"nonblocking", true, 0, is_not_ping_pong, nothing, exchange_nonblocking, nothing},
#if HAVE_MPI_NEIGHBORHOODS
    {"neighbor", false, 0, is_not_ping_pong, prepare_neighbor, exchange_neighbor, nothing},
#endif
    {"persistent", false, PERSISTENT_PLACES, is_not_ping_pong, prepare_persistent, exchange_persistent,
     clean_persistent},
    {"blocking", false, 0, is_ping_pong, nothing, exchange_blocking, nothing},
};

const char *const method_names[] = {"sendrecv", "alltoallv", "nonblocking",
#if HAVE_MPI_NEIGHBORHOODS
                                    "neighbor",
#endif
                                    "persistent", "blocking", NULL};

/* --- making a pattern ready ----------------------------------------------------------------------------------------- */

static void open_stage(struct stage *stage, const struct layout *layout, int number, MPI_Comm comm)
{
    *stage = (struct stage){.transfers = layout->transfers, .comm = comm, .graph = MPI_COMM_NULL};
    for (int j = 0; j < layout->transfers; j++)
        stage->transfer[j] = layout->transfer[number][j];
    MPI_CHECK(MPI_Comm_size(comm, &stage->size));
    stage->counts = calloc(4 * (size_t)stage->size, sizeof *stage->counts);
    if (!stage->counts)
        fail("out of memory for the counts of %d processes", stage->size);
}

/* Whom a transfer receives from, by world rank: asked of the sender itself, so no rank keeps a table of all. */
static void learn_sources(struct exchange *exchange, int rank)
{
    for (int s = 0; s < exchange->stages; s++) {
        const struct stage *stage = &exchange->stage[s];
        for (int j = 0; j < stage->transfers; j++) {
            exchange->source[s][j] = MPI_PROC_NULL;
            MPI_CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, stage->transfer[j].to, TAG, &exchange->source[s][j], 1, MPI_INT,
                                   stage->transfer[j].from, TAG, stage->comm, MPI_STATUS_IGNORE));
        }
    }
}

struct exchange exchange_open(const struct pattern *pattern, uint64_t seed, int *order)
{
    int rank, ranks;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    const struct layout layout = pattern_layout(pattern, ranks, rank, seed, order);
    struct exchange exchange = {.pattern = pattern};

    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, layout.color < 0 ? MPI_UNDEFINED : layout.color, layout.position,
                             &exchange.comm));
    exchange.stages = layout.color < 0 ? 0 : layout.stages;
    for (int s = 0; s < exchange.stages; s++)
        open_stage(&exchange.stage[s], &layout, s, exchange.comm);
    learn_sources(&exchange, rank);

    /* all ranks place their messages alike, whatever ring they are in */
    int transfers = layout.color < 0 ? 0 : layout.transfers;
    MPI_CHECK(MPI_Allreduce(&transfers, &exchange.slots, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return exchange;
}

void exchange_close(struct exchange *exchange)
{
    for (int s = 0; s < exchange->stages; s++) {
        if (exchange->stage[s].graph != MPI_COMM_NULL)
            MPI_CHECK(MPI_Comm_free(&exchange->stage[s].graph));
        free(exchange->stage[s].counts);
    }
    if (exchange->comm != MPI_COMM_NULL)
        MPI_CHECK(MPI_Comm_free(&exchange->comm));
}
