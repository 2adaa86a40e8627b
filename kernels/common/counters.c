/* SPDX-License-Identifier: Apache-2.0 */
/* See counters.h. */
#include "counters.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "counter_files.h"
#include "counter_rows.h"
#include "fail.h"
#include "machine.h"
#include "memory.h"

enum { TAG };

static const char *root_of_files(void)
{
    const char *root = getenv(COUNTERS_ROOT);
    return root ? root : "";
}

static void sleep_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    while (nanosleep(&left, &left) != 0)
        ;
}

static json_t *reading(const json_t *values, const char *key)
{
    json_t *value = json_object_get(values, key);
    return value ? json_incref(value) : json_string("absent");
}

/* Of each counter in either object the two readings, or one of two equal ones. */
static json_t *pairs(json_t *start, json_t *end)
{
    json_t *all = json_object(), *both = json_object();
    const char *key;
    json_t *unused;
    json_object_update(both, start);
    json_object_update(both, end);
    json_object_foreach(both, key, unused)
    {
        json_t *first = reading(start, key), *last = reading(end, key);
        if (json_equal(first, last)) {
            json_object_set_new(all, key, first);
            json_decref(last);
        } else {
            json_object_set_new(all, key, json_pack("[o, o]", first, last));
        }
    }
    json_decref(both);
    return all;
}

/* Of this node, with the root of its files if that is not the system's. Takes ownership of both. */
static json_t *node_json(json_t *start, json_t *end)
{
    const char *root = root_of_files();
    json_t *node = json_pack("{s:o}", "values", pairs(start, end));
    json_decref(start);
    json_decref(end);
    if (*root)
        json_object_set_new(node, "root", text_json(root));
    return node;
}

struct counters counters_begin(bool reads, double idle_seconds)
{
    struct counters counters = {0};
    if (idle_seconds > 0) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        const double begun = now_seconds();
        json_t *before = reads ? counter_files_read(root_of_files(), true) : NULL;
        sleep_for(idle_seconds);
        json_t *after = reads ? counter_files_read(root_of_files(), true) : NULL;
        counters.idle_seconds = now_seconds() - begun;
        counters.idle = reads ? node_json(before, after) : NULL;
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    }
    counters.start = reads ? counter_files_read(root_of_files(), false) : NULL;
    counters.started_seconds = now_seconds();
    return counters;
}

/* {"counter", "instance", "largest"} of a key, and the row's name removed from those without a file. */
static json_t *source_json(const char *key, json_t *absent)
{
    const char *instance = strchr(key, '\t') + 1, *largest = strrchr(key, '\t') + 1;
    const size_t name_length = (size_t)(instance - key - 1), instance_length = (size_t)(largest - instance - 1);
    json_t *name = json_stringn(key, name_length);
    json_object_del(absent, json_string_value(name));
    json_t *source = json_pack("{s:o, s:s%}", "counter", name, "instance", instance, instance_length);
    if (*largest)
        json_object_set_new(source, "largest", json_integer(strtoll(largest, NULL, 10)));
    return source;
}

/* The record of all nodes from an object of each: `sources` once, and their values per node. */
static json_t *merge(json_t *nodes, double elapsed_seconds, bool only_energy)
{
    json_t *every = json_object(), *sources = json_array(), *hosts = json_array(), *absent = json_object(), *node;
    json_t *unused;
    size_t number;
    const char *key;
    for (const struct counter_row *row = counter_rows; row->name; row++)
        if (row->energy || !only_energy)
            json_object_set_new(absent, row->name, json_null());
    json_array_foreach(nodes, number, node) json_object_update_missing(every, json_object_get(node, "values"));
    json_object_foreach(every, key, unused) json_array_append_new(sources, source_json(key, absent));
    json_array_foreach(nodes, number, node)
    {
        json_t *host = json_pack("{s:[]}", "values");
        json_object_foreach(every, key, unused)
            json_array_append_new(json_object_get(host, "values"), reading(json_object_get(node, "values"), key));
        if (json_object_get(node, "root"))
            json_object_set(host, "root", json_object_get(node, "root"));
        json_array_append_new(hosts, host);
    }
    json_t *names = json_array();
    json_object_foreach(absent, key, unused) json_array_append_new(names, json_string(key));
    json_decref(every);
    json_decref(absent);
    return json_pack("{s:s, s:f, s:o, s:o, s:o}", "phase", only_energy ? "idle" : "run", "elapsed_seconds",
                     elapsed_seconds, "sources", sources, "absent", names, "hosts", hosts);
}

static json_t *receive(int rank, int bytes)
{
    char *text = allocate((size_t)bytes, 1);
    MPI_CHECK(MPI_Recv(text, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    json_t *node = json_loadb(text, (size_t)bytes, 0, NULL);
    free(text);
    if (!node)
        fail("the counters that rank %d sent are no JSON; report this together with the output of the run", rank);
    return node;
}

/* The objects of all nodes in the order of their first ranks; `mine` is NULL on ranks that read nothing. Takes
 * ownership of `mine`; NULL on all ranks except 0. */
static json_t *gather(json_t *mine)
{
    int rank, ranks, bytes = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    char *text = mine && rank != 0 ? json_dumps(mine, JSON_COMPACT) : NULL;
    const size_t length = text ? strlen(text) : 0;
    if (length > INT_MAX)
        fail("the counters of the node have %zu bytes; report this together with the output of the run", length);
    bytes = (int)length;
    int *lengths = rank == 0 ? allocate((size_t)ranks, sizeof *lengths) : NULL;
    MPI_CHECK(MPI_Gather(&bytes, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD));
    json_t *nodes = NULL;
    if (rank == 0) {
        nodes = json_array();
        json_array_append(nodes, mine);
        for (int other = 1; other < ranks; other++)
            if (lengths[other] > 0)
                json_array_append_new(nodes, receive(other, lengths[other]));
    } else if (text) {
        MPI_CHECK(MPI_Send(text, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
    free(lengths);
    free(text);
    json_decref(mine);
    return nodes;
}

/* The record of an object of each node; takes ownership of this node's. NULL on all ranks except 0. */
static json_t *record_json(json_t *mine, double elapsed_seconds, bool idle)
{
    json_t *nodes = gather(mine), *record = nodes ? merge(nodes, elapsed_seconds, idle) : NULL;
    json_decref(nodes);
    return record;
}

json_t *counters_end(struct counters *counters, json_t **idle)
{
    *idle = NULL;
    if (counters->started_seconds == 0) /* nothing was measured */
        return NULL;
    json_t *end = counters->start ? counter_files_read(root_of_files(), false) : NULL;
    const double elapsed_seconds = now_seconds() - counters->started_seconds;
    json_t *run = record_json(end ? node_json(counters->start, end) : NULL, elapsed_seconds, false);
    if (counters->idle_seconds > 0)
        *idle = record_json(counters->idle, counters->idle_seconds, true);
    return run;
}
