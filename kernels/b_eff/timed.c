/* SPDX-License-Identifier: Apache-2.0 */
/* See timed.h. The timed region is timed_loop(); everything else prepares it or checks the received data. */
#include "timed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "agreement.h"
#include "clock.h"
#include "clocks.h"
#include "data.h"
#include "fail.h"
#include "hang.h"
#include "memory.h"
#include "peers.h"

enum {
    BUFFER_LENGTHS = 8, /* messages of L_max per buffer (three dimensions require six at once) */
    ALIGNMENT = 64,     /* of messages that are at least a cache line long */
    SHIFTS = 1024,      /* see next_walk() */
    WRONG_TEXT_LENGTH = 256
};

int64_t walk_buffer_bytes(int64_t l_max)
{
    return BUFFER_LENGTHS * ((l_max + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

struct loops loops_begin(const struct run *run, const struct memories *memories, int64_t l_max)
{
    const size_t bytes = (size_t)walk_buffer_bytes(l_max);
    return (struct loops){.run = run,
                          .buffers = buffers_open(run, memories, bytes, bytes + (size_t)SHIFTS * ALIGNMENT)};
}

void loops_end(struct loops *loops)
{
    run_log_data_check(loops->run, "received_bytes", loops->received_bytes, loops->checked_bytes);
    buffers_close(&loops->buffers);
}

/* The kind of memory of this process's messages. */
static int kind_of(const struct exchange *exchange)
{
    return exchange->pattern->memory[exchange->position == 1];
}

/* --- the walk through the buffers --------------------------------------------------------------------------------- */

/* Messages keep their natural alignment, up to a cache line. */
static size_t message_stride(int64_t bytes)
{
    size_t alignment = 1;
    while (alignment < ALIGNMENT && (int64_t)alignment < bytes)
        alignment *= 2;
    return ((size_t)bytes + alignment - 1) / alignment * alignment;
}

/* The places of the next loop: they continue where the last loop ended, or start at the beginning if they do not fit
 * there. The send position is shifted by another cache line for each loop: the data received at a given place therefore
 * differs from loop to loop, and a missing message is not mistaken for that of an earlier loop. */
static struct walk next_walk(struct loops *loops, const struct exchange *exchange, int64_t bytes, int64_t exchanges,
                             long most_places)
{
    struct walk walk = {.bytes = (int)bytes, .stride = message_stride(bytes)};
    walk.step = walk.stride * (size_t)exchange->slots;
    size_t start = (loops->next_place + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (start + walk.step * (size_t)exchanges > loops->buffers.bytes)
        start = 0;
    const long fitting = (long)((loops->buffers.bytes - start) / walk.step);
    walk.places = exchanges < fitting ? (long)exchanges : fitting;
    if (most_places && walk.places > most_places)
        walk.places = most_places;
    walk.receive = loops->buffers.in[kind_of(exchange)].receive + start;
    walk.send = loops->buffers.in[kind_of(exchange)].send + start + (size_t)(loops->count % SHIFTS) * ALIGNMENT;
    loops->next_place = start + walk.step * (size_t)walk.places;
    return walk;
}

/* --- the timed region --------------------------------------------------------------------------------------------- */

/* For the keeper: the messages of so many exchanges, with the untimed one, are here. */
static void note_received(const struct exchange *exchange, int64_t exchanges)
{
    atomic_store_explicit(exchange->received, (long)exchanges * exchange->transfers, memory_order_relaxed);
}

/* As timed_loop(), but it also times each exchange. Not one function, because what only needs the time of the whole
 * loop must not contain readings of the clock. */
static double timed_exchanges(const struct method *method, struct exchange *exchange, const struct walk *walk,
                              int64_t loop_length)
{
    long place = 0;
    method->exchange(exchange, walk, place); /* untimed */
    MPI_CHECK(MPI_Barrier(exchange->all));
    const double day = day_seconds(), start = MPI_Wtime();
    double before = start, now = start;
    for (int64_t i = 0; i < loop_length; i++, before = now) {
        note_received(exchange, i + 1);
        place = place + 1 < walk->places ? place + 1 : 0;
        method->exchange(exchange, walk, place);
        now = MPI_Wtime();
        exchange->each_seconds[i] = now - before;
    }
    exchange->day_seconds = day_seconds() - day;
    return now - start;
}

static double timed_loop(const struct method *method, struct exchange *exchange, const struct walk *walk,
                         int64_t loop_length)
{
    long place = 0;
    method->exchange(exchange, walk, place); /* untimed */
    MPI_CHECK(MPI_Barrier(exchange->all));
    const double day = day_seconds(), start = MPI_Wtime();
    for (int64_t i = 0; i < loop_length; i++) {
        note_received(exchange, i + 1);
        place = place + 1 < walk->places ? place + 1 : 0;
        method->exchange(exchange, walk, place);
    }
    const double elapsed = MPI_Wtime() - start;
    exchange->day_seconds = day_seconds() - day;
    return elapsed;
}

/* A rank that does not take part waits for the others. */
static double time_part(const struct method *method, struct exchange *exchange, const struct walk *walk,
                        int64_t loop_length)
{
    if (exchange->transfers == 0) {
        MPI_CHECK(MPI_Barrier(exchange->all));
        return 0;
    }
    method->prepare(exchange, walk);
    exchange->received = peers_receive(exchange->transfers, exchange->source, method->in_order);
    const double elapsed = (exchange->each_seconds ? timed_exchanges : timed_loop)(method, exchange, walk, loop_length);
    peers_receive(0, NULL, false);
    method->clean(exchange, walk);
    return elapsed;
}

/* Over the processes that take part. A loop shorter than the clock's resolution counts as that long. */
static struct result agree_on_result(const struct exchange *exchange, double elapsed)
{
    /* the maximum of the negative time is the shortest time */
    double mine[] = {-INFINITY, -INFINITY, -INFINITY}, all[3];
    if (exchange->transfers > 0) {
        mine[0] = fmax(elapsed, MPI_Wtick());
        mine[1] = -elapsed;
        mine[2] = mine[0] / exchange->transfers;
    }
    MPI_CHECK(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, exchange->all));
    return (struct result){.elapsed_seconds = all[0],
                           .fastest_seconds = -all[1],
                           .own_seconds = exchange->transfers > 0 ? mine[0] : NAN,
                           .slowest_message_seconds = all[2]};
}

/* --- check of received data --------------------------------------------------------------------------------------- */

/* Checks the data of the last walk in the receive buffer and describes the first wrong byte in `text`. */
static void check_received(struct loops *loops, const struct exchange *exchange, const struct walk *walk,
                           char text[WRONG_TEXT_LENGTH])
{
    if (exchange->transfers == 0)
        return;
    const int kind = kind_of(exchange);
    const char *data = buffers_received(&loops->buffers, kind, walk->receive, (size_t)walk->places * walk->step);
    for (int j = 0; j < exchange->transfers; j++) {
        for (long place = 0; exchange->source[j] != MPI_PROC_NULL && place < walk->places; place++) {
            const size_t offset = (size_t)place * walk->step + (size_t)j * walk->stride;
            size_t first;
            const size_t count =
                data_count_wrong(data + offset, (size_t)walk->bytes, (uint32_t)exchange->source[j],
                                 (uint64_t)(walk->send + offset - loops->buffers.in[kind].send), &first);
            if (count > 0 && !text[0])
                snprintf(text, WRONG_TEXT_LENGTH, "rank %d received a wrong byte from rank %d at offset %zu",
                         loops->run->rank, exchange->source[j], first);
            loops->checked_bytes += walk->bytes;
        }
    }
}

static const char wrong_byte[] =
    "data check: pattern %s, method %s, message length %d byte: %s; the MPI library or the "
    "network corrupts messages";

/* All ranks end the run together if one of them received a wrong byte; the message is that of the lowest such rank.
 * Where only a part of the processes is measured, the process ends the run alone. */
static void stop_if_wrong(struct loops *loops, const struct exchange *exchange, const struct method *method,
                          const struct walk *walk)
{
    char text[WRONG_TEXT_LENGTH] = "";
    check_received(loops, exchange, walk, text);
    if (exchange->all != MPI_COMM_WORLD) {
        if (text[0])
            fail(wrong_byte, exchange->pattern->name, method->name, walk->bytes, text);
        return;
    }
    const int first = agree_on_reason(MPI_COMM_WORLD, text, sizeof text);
    if (first == NO_RANK)
        return;
    fail_together_for(first, wrong_byte, exchange->pattern->name, method->name, walk->bytes, text);
}

/* --- one pattern, length and method ------------------------------------------------------------------------------- */

/* For the keeper, which notices if nothing moves. The time of a loop is expected from that of the last one. Between
 * loops, rank 0 writes the log. */
static void enter(const struct loops *loops, const struct exchange *exchange, const struct method *method,
                  int64_t bytes, double patience_seconds, const char *when)
{
    peers_enter(patience_seconds, "%spattern %s, method %s, message length %" PRId64 " byte, loop %ld", when,
                exchange->pattern->name, method->name, bytes, loops->count);
}

static double patience_of_loop(const struct loops *loops, int64_t bytes, int64_t loop_length)
{
    const double moved = (double)bytes * (double)(loop_length + 1);
    const double more = loops->last_bytes > 0 ? fmax(1, moved / loops->last_bytes) : 0;
    return hang_patience(more * loops->last_seconds);
}

static void compare_clocks(const struct exchange *exchange, int64_t bytes, double elapsed)
{
    char phase[32];
    if (exchange->transfers == 0)
        return;
    snprintf(phase, sizeof phase, "messages of %" PRId64 " byte", bytes);
    clocks_add(phase, elapsed, exchange->day_seconds);
}

struct result time_loop(struct loops *loops, struct exchange *exchange, const struct method *method, int64_t bytes,
                        int64_t loop_length)
{
    const struct walk walk = next_walk(loops, exchange, bytes, loop_length + 1, method->most_places);
    enter(loops, exchange, method, bytes, patience_of_loop(loops, bytes, loop_length), "");
    const double elapsed = time_part(method, exchange, &walk, loop_length);
    compare_clocks(exchange, bytes, elapsed);
    const struct result result = agree_on_result(exchange, elapsed);
    enter(loops, exchange, method, bytes, hang_patience_of_files(), "after ");
    if (buffers_hold_data)
        stop_if_wrong(loops, exchange, method, &walk);
    for (int j = 0; j < exchange->transfers; j++)
        if (exchange->source[j] != MPI_PROC_NULL)
            loops->received_bytes += bytes * (loop_length + 1);
    loops->count++;
    loops->last_seconds = result.elapsed_seconds;
    loops->last_bytes = (double)bytes * (double)(loop_length + 1);
    return result;
}
