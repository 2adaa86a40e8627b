/* SPDX-License-Identifier: Apache-2.0 */
/* See confirmation.h. */
#include "confirmation.h"

#include "fail.h"
#include "matchings.h"

enum { CONFIRMATIONS = 3, PAIRS = 3 };

static json_t *suspect_json(const struct suspect *suspect)
{
    return OBJECT(field_int("node", suspect->node), field_real("ratio", suspect->ratio),
                  field_json("good", list_of_ints(suspect->with, suspect->good)));
}

int choose_suspects(struct pairwise_state *state)
{
    const struct nodes *nodes = state->nodes;
    int compared = 0;
    if (state->seconds) {
        const int found = list_suspects(nodes->count, state->level, nodes->group, state->suspect);
        json_t *list = json_array();
        for (int i = 0; i < found; i++) {
            json_array_append_new(list, suspect_json(&state->suspect[i]));
            if (state->suspect[i].good > 0)
                state->suspect[compared++] = state->suspect[i];
        }
        log_write_rounded(state->run->log, "suspects", OBJECT(field_json("suspects", list)));
    }
    MPI_CHECK(MPI_Bcast(&compared, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(state->suspect, sizeof state->suspect, MPI_BYTE, 0, MPI_COMM_WORLD));
    return compared;
}

static json_t *seconds_of_pair(const struct pairwise_state *state, const int pair[2], bool one_per_node)
{
    const struct nodes *nodes = state->nodes;
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        const int first = nodes->first[pair[i]], all = nodes->first[pair[i] + 1] - first;
        for (int place = 0; place < (one_per_node ? 1 : all); place++)
            json_array_append_new(list, pairwise_seconds(state->seconds[nodes->rank[first + place]]));
    }
    return list;
}

static void measure_pair(struct pairwise_state *state, int suspect, int repetition, bool one_per_node,
                         const int pair[2])
{
    const int64_t l_max = state->request->length[LENGTHS - 1];
    const int64_t loop_length = state->plan->loop_length[state->plan->lengths - 1];
    for (int node = 0; node < state->nodes->count; node++)
        state->partner[node] = node == pair[0] ? pair[1] : node == pair[1] ? pair[0] : NO_PARTNER;
    struct exchange exchange = pairwise_exchange(state, one_per_node, BOTH);
    pairwise_time(state, &exchange, l_max, loop_length);
    if (state->seconds)
        log_write_rounded(state->run->log, "confirmation",
                          OBJECT(field_int("suspect", suspect), field_int("repetition", repetition),
                                 field_text("processes", one_per_node ? "one_per_node" : "all"),
                                 field_json("pair", list_of_ints(pair, 2)), field_int("message_bytes", l_max),
                                 field_int("loop_length", loop_length),
                                 field_json("seconds", seconds_of_pair(state, pair, one_per_node))));
}

void measure_suspect(struct pairwise_state *state, int number)
{
    const struct suspect *suspect = &state->suspect[number];
    const int pairs[PAIRS][2] = {
        {suspect->node, suspect->with[0]}, {suspect->node, suspect->with[1]}, {suspect->with[0], suspect->with[1]}};
    for (int repetition = 1; repetition <= CONFIRMATIONS; repetition++)
        for (int all = 0; all <= (state->nodes->largest_node > 1); all++)
            for (int i = 0; i < PAIRS; i++)
                measure_pair(state, suspect->node, repetition, !all, pairs[i]);
}
