/* SPDX-License-Identifier: Apache-2.0 */
/* See gather.h. */
#include "gather.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

enum { TAG };

int rank_in(MPI_Comm comm)
{
    int rank;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

int size_of(MPI_Comm comm)
{
    int size;
    MPI_CHECK(MPI_Comm_size(comm, &size));
    return size;
}

MPI_Comm node_communicator(int leader)
{
    MPI_Comm node;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, leader, rank_in(MPI_COMM_WORLD), &node));
    return node;
}

void *gather(MPI_Comm comm, const void *mine, size_t bytes)
{
    void *all = rank_in(comm) == 0 ? allocate((size_t)size_of(comm), bytes) : NULL;
    MPI_CHECK(MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm));
    return all;
}

static json_t *receive_json(int rank, int bytes)
{
    char *text = allocate((size_t)bytes, 1);
    MPI_CHECK(MPI_Recv(text, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    json_t *value = json_loadb(text, (size_t)bytes, JSON_DECODE_ANY, NULL);
    free(text);
    if (!value)
        fail("what rank %d sent for the log is no JSON; report this together with the output of the run", rank);
    return value;
}

json_t *gather_json(json_t *mine)
{
    const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
    char *text = mine && rank != 0 ? json_dumps(mine, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    const size_t length = text ? strlen(text) : 0;
    if (length > INT_MAX)
        fail("a part of the log has %zu bytes; report this together with the output of the run", length);
    const int bytes = (int)length;
    int *lengths = gather(MPI_COMM_WORLD, &bytes, sizeof bytes);
    json_t *all = NULL;
    if (rank == 0) {
        all = json_array();
        json_array_append(all, mine);
        for (int other = 1; other < ranks; other++)
            if (lengths[other] > 0)
                json_array_append_new(all, receive_json(other, lengths[other]));
    } else if (text) {
        MPI_CHECK(MPI_Send(text, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
    free(lengths);
    free(text);
    json_decref(mine);
    return all;
}

json_t *gather_from_nodes(int leader, json_t *of_node)
{
    const bool leads = rank_in(MPI_COMM_WORLD) == leader;
    if (!leads)
        json_decref(of_node);
    return gather_json(leads ? of_node : NULL);
}

char *text_of_rank_0(const char *text)
{
    int bytes = text ? (int)strlen(text) + 1 : 0;
    MPI_CHECK(MPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD));
    char *copy = text ? copy_text(text) : allocate((size_t)bytes, 1);
    MPI_CHECK(MPI_Bcast(copy, bytes, MPI_CHAR, 0, MPI_COMM_WORLD));
    return copy;
}
