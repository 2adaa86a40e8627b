/* SPDX-License-Identifier: Apache-2.0 */
/* See pairwise_loop.h. */
#include "pairwise_loop.h"

#include <math.h>

#include "fail.h"
#include "matchings.h"

double pairwise_time(struct pairwise_state *state, struct exchange *exchange, int64_t bytes, int64_t loop_length)
{
    const double start = MPI_Wtime();
    const struct result result = time_loop(state->loops, exchange, &methods[METHOD_NONBLOCKING], bytes, loop_length);
    MPI_CHECK(MPI_Gather(&result.own_seconds, 1, MPI_DOUBLE, state->seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    return MPI_Wtime() - start;
}

/* The rank with which this one exchanges messages: the process with the same place on the partner of its node. */
static int partner_of(const struct pairwise_state *state, bool one_per_node)
{
    const struct nodes *nodes = state->nodes;
    const int node = state->partner[nodes->of_rank[state->run->rank]];
    if (node == NO_PARTNER || (one_per_node && state->place > 0) ||
        state->place >= nodes->first[node + 1] - nodes->first[node])
        return MPI_PROC_NULL;
    return nodes->rank[nodes->first[node] + state->place];
}

struct exchange pairwise_exchange(const struct pairwise_state *state, bool one_per_node, enum direction direction)
{
    struct exchange exchange = {
        .pattern = &state->matching, .all = MPI_COMM_WORLD, .comm = MPI_COMM_WORLD, .graph = MPI_COMM_NULL, .slots = 1};
    const int partner = partner_of(state, one_per_node);
    if (partner == MPI_PROC_NULL)
        return exchange;
    const bool lower = state->nodes->of_rank[state->run->rank] < state->nodes->of_rank[partner];
    exchange.position = !lower;
    exchange.transfers = 1;
    exchange.transfer[0].to = direction == BOTH || (direction == UP) == lower ? partner : MPI_PROC_NULL;
    exchange.transfer[0].from = direction == BOTH || (direction == DOWN) == lower ? partner : MPI_PROC_NULL;
    exchange.source[0] = exchange.transfer[0].from;
    return exchange;
}

double pairwise_slowest(const struct pairwise_state *state, int node)
{
    double slowest = NAN; /* fmax() ignores it */
    for (int i = state->nodes->first[node]; i < state->nodes->first[node + 1]; i++)
        slowest = fmax(slowest, state->seconds[state->nodes->rank[i]]);
    return slowest;
}

json_t *pairwise_seconds(double seconds)
{
    return isnan(seconds) ? json_null() : json_real(seconds);
}
