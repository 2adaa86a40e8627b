/* SPDX-License-Identifier: Apache-2.0 */
/* See node_counters.h. */
#include "node_counters.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "counter_files.h"
#include "counter_rows.h"
#include "fail.h"
#include "gather.h"
#include "record.h"

enum { FOLLOW_SECONDS = 20 };

double idle_power_seconds;

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

/* Of each counter in either object the two readings, and how often it began again between them; or one of two equal
 * readings. */
static json_t *pairs(json_t *start, json_t *end, json_t *again)
{
    json_t *all = json_object(), *both = json_object();
    const char *key;
    json_t *unused;
    json_object_update(both, start);
    json_object_update(both, end);
    json_object_foreach(both, key, unused)
    {
        json_t *first = reading(start, key), *last = reading(end, key), *times = json_object_get(again, key);
        json_t *values = json_array();
        json_array_append_new(values, first);
        json_array_append_new(values, last);
        if (times)
            json_array_append(values, times);
        json_object_set(all, key, times || !json_equal(first, last) ? values : first);
        json_decref(values);
    }
    json_decref(both);
    return all;
}

/* Of this node, with the root of its files if that is not the system's. */
static json_t *node_json(json_t *start, json_t *end, json_t *again, double longest_seconds)
{
    const char *root = root_of_files();
    json_t *node =
        OBJECT(field_json("values", pairs(start, end, again)), field_real("longest_seconds", longest_seconds));
    if (*root)
        json_object_set_new(node, "root", text_json(root));
    return node;
}

/* Compares the counters that state their largest value, the last part of a key, with their last reading. */
static void note_again(json_t *last, json_t *next, json_t *again)
{
    const char *key;
    json_t *value;
    json_object_foreach(next, key, value)
    {
        const json_t *before = json_object_get(last, key);
        if (key[strlen(key) - 1] != '\t' && json_is_integer(before) && json_is_integer(value) &&
            json_integer_value(value) < json_integer_value(before))
            json_object_set_new(again, key, json_integer(1 + json_integer_value(json_object_get(again, key))));
    }
}

static json_t *idle_json(void)
{
    json_t *before = counter_files_read(root_of_files(), true), *again = json_object();
    sleep_for(idle_power_seconds);
    json_t *after = counter_files_read(root_of_files(), true);
    note_again(before, after, again);
    json_t *node = node_json(before, after, again, idle_power_seconds);
    json_decref(before);
    json_decref(after);
    json_decref(again);
    return node;
}

struct node_counters node_counters_begin(bool reads)
{
    struct node_counters counters = {0};
    if (idle_power_seconds > 0) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        const double begun = now_seconds();
        if (reads)
            counters.idle = idle_json();
        else
            sleep_for(idle_power_seconds);
        counters.idle_seconds = now_seconds() - begun;
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    }
    counters.started_seconds = counters.last_seconds = now_seconds();
    if (reads) {
        counters.start = counter_files_read(root_of_files(), false);
        counters.last = json_incref(counters.start);
        counters.again = json_object();
    }
    return counters;
}

/* Takes ownership of `next`. */
static void take(struct node_counters *counters, json_t *next)
{
    const double now = now_seconds(), since = now - counters->last_seconds;
    note_again(counters->last, next, counters->again);
    json_decref(counters->last);
    counters->last = next;
    counters->last_seconds = now;
    if (since > counters->longest_seconds)
        counters->longest_seconds = since;
}

void node_counters_follow(struct node_counters *counters)
{
    if (counters->start && now_seconds() - counters->last_seconds >= FOLLOW_SECONDS)
        take(counters, counter_files_read(root_of_files(), true));
}

/* {"counter", "instance", "largest"} of a key, and the row's name removed from those without a file. */
static json_t *source_json(const char *key, json_t *absent)
{
    const char *instance = strchr(key, '\t') + 1, *largest = strrchr(key, '\t') + 1;
    const size_t name_length = (size_t)(instance - key - 1), instance_length = (size_t)(largest - instance - 1);
    json_t *name = json_stringn(key, name_length);
    json_object_del(absent, json_string_value(name));
    json_t *source =
        OBJECT(field_json("counter", name), field_json("instance", json_stringn(instance, instance_length)));
    if (*largest)
        object_add(source, field_int("largest", strtoll(largest, NULL, 10)));
    return source;
}

/* The names of the table, as keys. */
static json_t *names_of_rows(bool only_energy)
{
    json_t *names = json_object();
    for (const struct counter_row *row = counter_rows; row->name; row++)
        if (row->energy || !only_energy)
            json_object_set_new(names, row->name, json_null());
    return names;
}

/* The values of a node, and the numbers of their sources unless it has all of them in their order. */
static json_t *host_json(json_t *node, json_t *numbers)
{
    json_t *values = json_array(), *has = json_array(), *value, *root = json_object_get(node, "root");
    const char *key;
    bool all = json_object_size(json_object_get(node, "values")) == json_object_size(numbers);
    json_object_foreach(json_object_get(node, "values"), key, value)
    {
        json_t *number = json_object_get(numbers, key);
        all = all && (size_t)json_integer_value(number) == json_array_size(values);
        json_array_append(has, number);
        json_array_append(values, value);
    }
    json_t *host = OBJECT(field_json("values", values));
    if (!all)
        json_object_set(host, "has", has);
    if (root)
        json_object_set(host, "root", root);
    json_decref(has);
    return host;
}

/* The record of all nodes from an object of each: `sources` once, and their values per node. */
static json_t *merge(json_t *nodes, double elapsed_seconds, bool idle)
{
    json_t *numbers = json_object(), *sources = json_array(), *hosts = json_array(), *names = json_array();
    json_t *absent = names_of_rows(idle), *node, *unused;
    double longest_seconds = 0;
    size_t place;
    const char *key;
    json_array_foreach(nodes, place, node)
    {
        json_object_foreach(json_object_get(node, "values"), key, unused)
        {
            if (json_object_get(numbers, key))
                continue;
            json_object_set_new(numbers, key, json_integer((json_int_t)json_array_size(sources)));
            json_array_append_new(sources, source_json(key, absent));
        }
        const double longest = json_real_value(json_object_get(node, "longest_seconds"));
        longest_seconds = longest > longest_seconds ? longest : longest_seconds;
    }
    json_array_foreach(nodes, place, node) json_array_append_new(hosts, host_json(node, numbers));
    json_object_foreach(absent, key, unused) json_array_append_new(names, json_string(key));
    json_decref(numbers);
    json_decref(absent);
    return OBJECT(field_text("phase", idle ? "idle" : "run"), field_real("elapsed_seconds", elapsed_seconds),
                  field_real("longest_seconds", longest_seconds), field_json("sources", sources),
                  field_json("absent", names), field_json("hosts", hosts));
}

/* The record of an object of each node; takes ownership of this node's. NULL on all ranks except 0. */
static json_t *record_json(json_t *mine, double elapsed_seconds, bool idle)
{
    json_t *nodes = gather_json(mine), *record = nodes ? merge(nodes, elapsed_seconds, idle) : NULL;
    json_decref(nodes);
    return record;
}

json_t *node_counters_end(struct node_counters *counters, json_t **idle)
{
    json_t *node = NULL;
    *idle = NULL;
    if (counters->started_seconds == 0) /* nothing was measured */
        return NULL;
    if (counters->start) {
        json_t *end = counter_files_read(root_of_files(), false);
        take(counters, json_incref(end));
        node = node_json(counters->start, end, counters->again, counters->longest_seconds);
        json_decref(end);
    }
    json_decref(counters->start);
    json_decref(counters->last);
    json_decref(counters->again);
    json_t *run = record_json(node, now_seconds() - counters->started_seconds, false);
    if (counters->idle_seconds > 0)
        *idle = record_json(counters->idle, counters->idle_seconds, true);
    return run;
}
