/* SPDX-License-Identifier: Apache-2.0 */
/* See load.h. */
#include "load.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fail.h"
#include "latency.h"
#include "memory.h"
#include "random.h"
#include "units.h"

/* The number of the victims in the seed's sequence, see matchings.c; percent. */
enum { OF_VICTIMS = 3, MIDDLE = 50, ALL = 100, SHARE_OF_L_MAX = 4 };

const char *const load_kind_names[] = {"incast", "alltoall", "broadcast", "io", NULL};

int64_t load_message_bytes(int64_t l_max)
{
    const int64_t bytes = l_max / SHARE_OF_L_MAX;
    return bytes < MIB ? bytes : MIB;
}

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

struct load load_begin(const struct nodes *nodes, uint64_t kinds, int percent, uint64_t seed)
{
    struct load load = {.kinds = kinds,
                        .victims = percent,
                        .nodes = nodes,
                        .measured = MPI_COMM_WORLD,
                        .measured_ranks = nodes->first[nodes->count],
                        .generators = MPI_COMM_NULL,
                        .control = MPI_COMM_NULL};
    if (kinds == 0)
        return load;
    const int victims = victim_nodes(nodes->count, percent), generators = nodes->count - victims;
    if (victims < FEWEST_NODES_OF_A_ROLE || generators < FEWEST_NODES_OF_A_ROLE)
        refuse("--load requires at least %d nodes that are measured and %d that generate load; this run has %d and %d "
               "of %d nodes: use more nodes, or another share of --victims",
               FEWEST_NODES_OF_A_ROLE, FEWEST_NODES_OF_A_ROLE, victims, generators, nodes->count);
    int rank;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
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
    if (load->kinds == 0)
        return;
    MPI_CHECK(MPI_Comm_free(load->measured == MPI_COMM_NULL ? &load->generators : &load->measured));
    MPI_CHECK(MPI_Comm_free(&load->control));
    free(load->generating_node);
    free(load->is_victim);
}

json_t *load_json(const struct load *load, int64_t l_max)
{
    if (load->kinds == 0)
        return NULL;
    json_t *kinds = json_array(), *victims = json_array();
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        if (load->kinds >> kind & 1)
            json_array_append_new(kinds, json_string(load_kind_names[kind]));
    for (int node = 0; node < load->nodes->count; node++)
        if (load->is_victim[node])
            json_array_append_new(victims, json_integer(node));
    return json_pack("{s:o, s:i, s:o, s:i, s:I, s:i, s:f, s:o*}", "kinds", kinds, "victims_percent", load->victims,
                     "victims", victims, "victim_processes", load->measured_ranks, "message_bytes",
                     (json_int_t)load_message_bytes(l_max), "sends_at_once", SENDS_AT_ONCE, "latency_relative_error",
                     latency_relative_error, "file_bytes",
                     load->kinds >> LOAD_IO & 1 ? json_integer(FILE_LOAD_BYTES) : NULL);
}
