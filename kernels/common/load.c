/* SPDX-License-Identifier: Apache-2.0 */
/* See load.h. */
#include "load.h"

#include <math.h>
#include <stdlib.h>

#include "agreement.h"
#include "fail.h"
#include "gather.h"
#include "latency.h"
#include "memory.h"
#include "random.h"
#include "record.h"

/* The number of the victims in the sequence of a seed (b_eff has others); percent. */
enum { OF_VICTIMS = 3, MIDDLE = 50, ALL = 100 };

/* Half a node counts as one. */
static int victim_nodes(int nodes, int percent)
{
    return (int)(((int64_t)nodes * percent + MIDDLE) / ALL);
}

/* The first node, and the first ones of a random order of the others. */
static bool *select_victims(int nodes, int victims, uint64_t seed)
{
    bool *is_victim = allocate((size_t)nodes, sizeof *is_victim);
    int *order = allocate((size_t)nodes, sizeof *order);
    for (int node = 0; node < nodes; node++)
        order[node] = node;
    random_shuffle(order + 1, nodes - 1, random_number(seed, OF_VICTIMS));
    for (int i = 0; i < victims; i++)
        is_victim[order[i]] = true;
    free(order);
    return is_victim;
}

/* Processes of `generators` are in the order of their ranks. */
static void number_generating_nodes(struct load *load)
{
    const struct nodes *nodes = load->nodes;
    const int ranks = nodes->first[nodes->count];
    int *number = allocate((size_t)nodes->count, sizeof *number), process = 0;
    load->generating_node = allocate((size_t)ranks, sizeof *load->generating_node);
    for (int node = 0; node < nodes->count; node++)
        number[node] = load->is_victim[node] ? 0 : load->generating_nodes++;
    for (int rank = 0; rank < ranks; rank++)
        if (!load->is_victim[nodes->of_rank[rank]])
            load->generating_node[process++] = number[nodes->of_rank[rank]];
    load->measured_ranks = ranks - process;
    free(number);
}

struct load load_begin(const struct nodes *nodes, uint64_t kinds, int64_t percent, uint64_t seed, int fewest)
{
    struct load load = {.kinds = kinds, .victims = percent ? (int)percent : MIDDLE, .nodes = nodes};
    const int victims = victim_nodes(nodes->count, load.victims), generators = nodes->count - victims;
    if (victims < fewest || generators < fewest)
        refuse("a load requires at least %d node%s measured and %d that generate%s load; this run has %d and %d of %d "
               "nodes: use more nodes, or another share of --victims",
               fewest, fewest > 1 ? "s that are" : " that is", fewest, fewest > 1 ? "" : "s", victims, generators,
               nodes->count);
    const int rank = rank_in(MPI_COMM_WORLD);
    load.is_victim = select_victims(nodes->count, victims, seed);
    number_generating_nodes(&load);
    const bool measured = load.is_victim[nodes->of_rank[rank]];
    MPI_Comm own;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, measured, rank, &own));
    load.measured = measured ? own : MPI_COMM_NULL;
    load.generators = measured ? MPI_COMM_NULL : own;
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &load.control));
    return load;
}

void load_end(struct load *load)
{
    MPI_CHECK(MPI_Comm_free(load->measured == MPI_COMM_NULL ? &load->generators : &load->measured));
    MPI_CHECK(MPI_Comm_free(&load->control));
    free(load->generating_node);
    free(load->is_victim);
}

json_t *load_json(const struct load *load, const char *const names[])
{
    json_t *kinds = json_array(), *victims = json_array();
    for (int kind = 0; names[kind]; kind++)
        if (load->kinds >> kind & 1)
            json_array_append_new(kinds, json_string(names[kind]));
    for (int node = 0; node < load->nodes->count; node++)
        if (load->is_victim[node])
            json_array_append_new(victims, json_integer(node));
    return OBJECT(field_json("kinds", kinds), field_int("victims_percent", load->victims),
                  field_json("victims", victims), field_int("victim_processes", load->measured_ranks),
                  field_real("latency_relative_error", latency_relative_error));
}

/* --- a phase under load ------------------------------------------------------------------------------------------- */

static void with_each(const struct load *load, void (*operation)(const struct load *, int rank))
{
    const struct nodes *nodes = load->nodes;
    for (int rank = 0; rank < nodes->first[nodes->count]; rank++)
        if (!load->is_victim[nodes->of_rank[rank]])
            operation(load, rank);
}

static void await(const struct load *load, int rank)
{
    MPI_CHECK(MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG_READY, load->control, MPI_STATUS_IGNORE));
}

static void tell_to_stop(const struct load *load, int rank)
{
    MPI_CHECK(MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_STOP, load->control));
}

void await_generators(const struct load *load)
{
    with_each(load, await);
}

void stop_generators(const struct load *load)
{
    with_each(load, tell_to_stop);
}

void load_stop_on_reason(struct traffic *mine)
{
    const int rank = agree_on_reason(MPI_COMM_WORLD, mine->reason, REASON_BYTES);
    if (rank != NO_RANK)
        fail_together_for(rank, "%s", mine->reason);
}

struct totals load_totals(const struct traffic *mine)
{
    enum { SENT, RECEIVED, CACHED, SENDERS, SILENT, NUMBERS };
    const int64_t numbers[NUMBERS] = {mine->sent_bytes, mine->received_bytes, mine->cached_bytes, mine->sends,
                                      mine->silent};
    /* the maximum of the negative time is the shortest time */
    const double times[2] = {mine->seconds > 0 ? mine->seconds : -INFINITY,
                             mine->seconds > 0 ? -mine->seconds : -INFINITY};
    int64_t sums[NUMBERS];
    double extremes[2];
    MPI_CHECK(MPI_Allreduce(numbers, sums, NUMBERS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(times, extremes, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return (struct totals){.longest_seconds = extremes[0],
                           .shortest_seconds = -extremes[1],
                           .sent_bytes = sums[SENT],
                           .received_bytes = sums[RECEIVED],
                           .cached_bytes = sums[CACHED],
                           .senders = sums[SENDERS],
                           .silent_senders = sums[SILENT]};
}

json_t *load_totals_json(const struct totals *totals)
{
    return OBJECT(field_real("elapsed_seconds", totals->longest_seconds),
                  field_real("shortest_seconds", totals->shortest_seconds), field_int("sent_bytes", totals->sent_bytes),
                  field_int("received_bytes", totals->received_bytes), field_int("senders", totals->senders),
                  field_int("silent_senders", totals->silent_senders));
}
