/* SPDX-License-Identifier: Apache-2.0 */
/* See generators.h. Nothing here is collective, so that no process waits for the slowest one: a process sends to its
 * targets in turn, several messages at once, and receives from its sources in the order in which they come.
 *
 * Sends are synchronous: without that, messages that fit into the library's buffers would pile up on a process to
 * which many send. The end: a process that is told to stop completes its sends and then sends an empty message to each
 * target for each of the messages that it may have sent at once. A process has received everything when it has all
 * empty messages of its sources, and it never waits for more messages than empty ones are left: no receive is without
 * its message at the end. */
#include "generators.h"

#include <stdlib.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"

/* Requests of a process: [0] the word to stop, then its sends, then its receives. */
enum { STOP, FIRST_SEND, FIRST_RECEIVE = FIRST_SEND + SENDS_AT_ONCE };

struct generator {
    const struct load *load;
    int *target;                /* processes to which this one sends, in turn */
    int targets, next, sources; /* `sources`: number of processes that send to this one */
    int bytes;                  /* of a message */
    char *send, *receive;
    int slots;   /* receives at once */
    int64_t due; /* empty messages that will still come */
    MPI_Request *request;
    int sending, receiving; /* at this time */
    bool ready, stopped;
    MPI_Request told; /* of the message that the load is there */
    double ready_seconds;
    struct traffic traffic;
    int64_t sent, received; /* messages so far */
};

/* --- who sends to whom -------------------------------------------------------------------------------------------- */

/* Processes of one node send each other nothing, because the network would not carry it. */
static bool sends_to(const struct load *load, enum load_kind kind, int root, int from, int to)
{
    if (load->generating_node[from] == load->generating_node[to])
        return false;
    return kind == LOAD_ALLTOALL || (kind == LOAD_INCAST ? to : from) == root;
}

/* The targets of each process begin after itself, so that not all send to the same one at first. */
static void list_targets(struct generator *generator, enum load_kind kind, int root)
{
    const int rank = rank_in(generator->load->generators), ranks = size_of(generator->load->generators);
    generator->target = allocate((size_t)ranks, sizeof *generator->target);
    for (int i = 1; i < ranks; i++) {
        const int other = (rank + i) % ranks;
        if (sends_to(generator->load, kind, root, rank, other))
            generator->target[generator->targets++] = other;
        generator->sources += sends_to(generator->load, kind, root, other, rank);
    }
}

/* --- the messages ------------------------------------------------------------------------------------------------- */

static void start_send(struct generator *generator, int place)
{
    if (generator->targets == 0 || generator->stopped)
        return;
    const int to = generator->target[generator->next];
    generator->next = (generator->next + 1) % generator->targets;
    MPI_CHECK(MPI_Issend(generator->send, generator->bytes, MPI_BYTE, to, TAG_LOAD, generator->load->generators,
                         &generator->request[FIRST_SEND + place]));
    generator->sending++;
}

static void start_receive(struct generator *generator, int slot)
{
    if (slot >= generator->slots || generator->receiving >= generator->due)
        return;
    MPI_CHECK(MPI_Irecv(generator->receive + (size_t)slot * (size_t)generator->bytes, generator->bytes, MPI_BYTE,
                        MPI_ANY_SOURCE, TAG_LOAD, generator->load->generators,
                        &generator->request[FIRST_RECEIVE + slot]));
    generator->receiving++;
}

/* The load is there when this process has sent and received a message, as far as it has to. */
static void tell_if_ready(struct generator *generator)
{
    if (generator->ready || (generator->targets > 0 && generator->sent == 0) ||
        (generator->sources > 0 && generator->received == 0))
        return;
    generator->ready = true;
    MPI_CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, TAG_READY, generator->load->control, &generator->told));
    generator->ready_seconds = MPI_Wtime();
    generator->sent = generator->received = 0;
}

static void stop(struct generator *generator)
{
    generator->stopped = true;
    generator->traffic = (struct traffic){.seconds = MPI_Wtime() - generator->ready_seconds,
                                          .sent_bytes = generator->sent * generator->bytes,
                                          .received_bytes = generator->received * generator->bytes,
                                          .sends = generator->targets > 0,
                                          .silent = generator->targets > 0 && generator->sent == 0};
}

static void handle(struct generator *generator, int index, const MPI_Status *status)
{
    if (index == STOP) {
        stop(generator);
    } else if (index < FIRST_RECEIVE) {
        generator->sending--;
        generator->sent++;
        start_send(generator, index - FIRST_SEND);
    } else {
        int bytes;
        MPI_CHECK(MPI_Get_count(status, MPI_BYTE, &bytes));
        generator->receiving--;
        generator->received += bytes > 0;
        generator->due -= bytes == 0;
        start_receive(generator, index - FIRST_RECEIVE);
    }
}

/* Waits for any of the messages. Not for several: SMPI's MPI_Waitsome takes 0.1 ms for each that is not completed. */
static void proceed(struct generator *generator)
{
    int index;
    MPI_Status status;
    MPI_CHECK(MPI_Waitany(FIRST_RECEIVE + generator->slots, generator->request, &index, &status));
    handle(generator, index, &status);
    tell_if_ready(generator);
}

/* The empty messages, while those of others arrive. */
static void finish(struct generator *generator)
{
    const int count = generator->targets * SENDS_AT_ONCE;
    MPI_Request *requests = allocate((size_t)count + 1, sizeof *requests);
    for (int i = 0; i < count; i++)
        MPI_CHECK(MPI_Isend(NULL, 0, MPI_BYTE, generator->target[i % generator->targets], TAG_LOAD,
                            generator->load->generators, &requests[i]));
    while (generator->due > 0)
        proceed(generator);
    requests[count] = generator->told;
    MPI_CHECK(MPI_Waitall(count + 1, requests, MPI_STATUSES_IGNORE));
    free(requests);
}

struct traffic generate(const struct load *load, enum load_kind kind, int root, const struct loops *loops,
                        int64_t bytes)
{
    struct generator generator = {.load = load,
                                  .bytes = (int)bytes,
                                  .send = loops->buffers.in[MEMORY_HOST].send,
                                  .receive = loops->buffers.in[MEMORY_HOST].receive};
    list_targets(&generator, kind, root);
    generator.slots = (int)(loops->buffers.bytes / (size_t)generator.bytes);
    generator.due = (int64_t)generator.sources * SENDS_AT_ONCE;
    const size_t requests = FIRST_RECEIVE + (size_t)generator.slots;
    generator.request = allocate(requests, sizeof *generator.request);
    for (size_t i = 0; i < requests; i++)
        generator.request[i] = MPI_REQUEST_NULL;

    MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_STOP, load->control, &generator.request[STOP]));
    for (int slot = 0; slot < generator.slots; slot++)
        start_receive(&generator, slot);
    for (int place = 0; place < SENDS_AT_ONCE; place++)
        start_send(&generator, place);
    tell_if_ready(&generator);
    while (!generator.stopped || generator.sending > 0)
        proceed(&generator);
    finish(&generator);
    free(generator.request);
    free(generator.target);
    return generator.traffic;
}
