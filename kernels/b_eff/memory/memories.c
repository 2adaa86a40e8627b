/* SPDX-License-Identifier: Apache-2.0 */
/* See memories.h. */
#include "memories.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "fail.h"
#include "gather.h"
#include "memory.h"
#include "memory_kinds.h"
#include "memory_support.h"

enum { TEXT_LENGTH = 1024 };

static bool has(const struct memories *memories, int kind)
{
    return memories->chosen >> kind & 1;
}

bool memories_have_host(const struct memories *memories)
{
    return !memories->chosen || has(memories, MEMORY_HOST);
}

int memories_buffers_on_host(const struct memories *memories)
{
    const bool has_device = memories->chosen >> 1;
    return 2 * memories_have_host(memories) + has_device;
}

/* --- the patterns ------------------------------------------------------------------------------------------------- */

static struct pattern in_memory(struct pattern pattern, int first, int second)
{
    char kinds[PATTERN_NAME_LENGTH];
    snprintf(kinds, sizeof kinds, first == second ? "-%s" : "-%s-%s", memory_kinds[first].name,
             memory_kinds[second].name);
    strncat(pattern.name, kinds, sizeof pattern.name - strlen(pattern.name) - 1);
    pattern.memory[0] = first;
    pattern.memory[1] = second;
    return pattern;
}

int memories_repeat(const struct memories *memories, struct pattern **list, int count)
{
    if (!memories->chosen)
        return count;
    struct pattern *all = allocate((size_t)count * MEMORY_KINDS * MEMORY_KINDS, sizeof *all);
    int repeated = 0;
    for (int p = 0; p < count; p++)
        for (int first = 0; first < MEMORY_KINDS; first++)
            for (int second = first; second < MEMORY_KINDS; second++)
                if (has(memories, first) && has(memories, second) &&
                    (first == second || (*list)[p].group == GROUP_PING_PONG))
                    all[repeated++] = in_memory((*list)[p], first, second);
    free(*list);
    *list = all;
    return repeated;
}

void memories_describe_pattern(const struct memories *memories, const struct pattern *pattern, json_t *description)
{
    if (!memories->chosen)
        return;
    json_t *kinds = json_array();
    for (int end = 0; end < 2; end++)
        json_array_append_new(kinds, json_string(memory_kinds[pattern->memory[end]].name));
    object_add(description, field_json("memory", kinds));
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* A process and its device. */
struct owner {
    int leader; /* the first rank on its node */
    struct memory_device device;
};

static bool same_device(const struct owner *a, const struct owner *b)
{
    return a->leader == b->leader && strcmp(a->device.pci_address, b->device.pci_address) == 0;
}

/* In the order of their first ranks. Ranks that are listed get the leader NO_RANK. */
static json_t *devices_json(struct owner *owners, int ranks, int64_t *least_bytes)
{
    json_t *devices = json_array();
    *least_bytes = INT64_MAX;
    for (int first = 0; first < ranks; first++) {
        const struct owner owner = owners[first];
        json_t *list = json_array();
        for (int rank = first; owner.leader != NO_RANK && rank < ranks; rank++)
            if (same_device(&owners[rank], &owner)) {
                json_array_append_new(list, json_integer(rank));
                owners[rank].leader = NO_RANK;
            }
        const int64_t sharing = (int64_t)json_array_size(list);
        if (sharing == 0) {
            json_decref(list);
            continue;
        }
        if (owner.device.bytes / sharing < *least_bytes)
            *least_bytes = owner.device.bytes / sharing;
        json_t *numa_node = owner.device.numa_node == NO_NUMA_NODE ? json_null() : json_integer(owner.device.numa_node);
        json_array_append_new(
            devices, OBJECT(field_text("pci_address", owner.device.pci_address), field_json("numa_node", numa_node),
                            field_int("memory_bytes", owner.device.bytes), field_json("ranks", list)));
    }
    return devices;
}

/* The number of this process among those of its node. */
static int place_on_node(const struct run *run)
{
    MPI_Comm node = node_communicator(run->machine.leader);
    const int place = rank_in(node);
    MPI_CHECK(MPI_Comm_free(&node));
    return place;
}

/* Refuses the run if a process cannot use the kind. */
static struct owner open_device(const struct run *run, int kind, const char **library)
{
    struct owner owner = {.leader = run->machine.leader};
    char text[TEXT_LENGTH] = "", host[MPI_MAX_PROCESSOR_NAME];
    const char *problem = memory_open(kind, place_on_node(run), &owner.device, library);
    if (problem) {
        host_name(host);
        snprintf(text, sizeof text, "--memory %s: %s (rank %d on %s)", memory_kinds[kind].name, problem, run->rank,
                 host);
    }
    if (agree_on_reason(MPI_COMM_WORLD, text, sizeof text) != NO_RANK)
        refuse("%s", text);
    return owner;
}

/* --- support by the MPI library ----------------------------------------------------------------------------------- */

/* All processes have to agree, because nodes may have different libraries. */
static bool ask(int kind, bool anyway, json_t **asked)
{
    bool supported;
    *asked = memory_questions(kind, &supported);
    int all = supported;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all && !anyway) {
        char *text = json_dumps(*asked, 0);
        refuse("--memory %s: the MPI library does not state that it supports this memory; asked were %s (null: it does "
               "not know the question). Use an MPI library with this support, or try with --memory-anyway",
               memory_kinds[kind].name, text);
    }
    return all;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void add_host(struct memories *memories, const struct run *run)
{
    memories->memory_per_process_bytes = run->memory_per_process_bytes;
    if (memories->description)
        json_array_append_new(memories->description,
                              OBJECT(field_text("kind", memory_kinds[MEMORY_HOST].name),
                                     field_int("memory_per_process_bytes", run->memory_per_process_bytes)));
}

/* The option for the memory per process is for all kinds. */
static int64_t device_memory(const struct run *run, int kind, int64_t least_bytes)
{
    if (strcmp(run->memory_source, "option") != 0)
        return least_bytes;
    if (run->memory_per_process_bytes > least_bytes)
        refuse("--memory-per-process %" PRId64
               " is more %s memory than a device has for each of its processes, %" PRId64
               " bytes; choose less or omit the option",
               run->memory_per_process_bytes, memory_kinds[kind].name, least_bytes);
    return run->memory_per_process_bytes;
}

static void add_device(struct memories *memories, const struct run *run, int kind, bool anyway)
{
    json_t *asked;
    const char *library = NULL;
    const bool supported = ask(kind, anyway, &asked);
    struct owner owner = open_device(run, kind, &library);
    struct owner *owners = gather(MPI_COMM_WORLD, &owner, sizeof owner);
    int64_t bytes = 0;
    json_t *devices = owners ? devices_json(owners, run->ranks, &bytes) : NULL;
    MPI_CHECK(MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    bytes = device_memory(run, kind, bytes);
    if (bytes < memories->memory_per_process_bytes)
        memories->memory_per_process_bytes = bytes;
    if (owners)
        json_array_append_new(memories->description,
                              OBJECT(field_text("kind", memory_kinds[kind].name),
                                     field_int("memory_per_process_bytes", bytes), field_text("library", library),
                                     field_bool("supported", supported), field_json("asked", asked),
                                     field_json("devices", devices)));
    else
        json_decref(asked);
    free(owners);
}

struct memories memories_open(const struct run *run, const struct memory_choices *choices)
{
    struct memories memories = {.chosen = choices->kinds, .memory_per_process_bytes = run->memory_per_process_bytes};
    if (!memories.chosen) {
        if (choices->anyway)
            refuse("--memory-anyway requires --memory");
        return memories;
    }
    if (!buffers_hold_data)
        refuse("--memory is for real machines, not for simulated ones; omit it");
    memories.description = run->rank == 0 ? json_array() : NULL;
    memories.memory_per_process_bytes = INT64_MAX;
    while (!has(&memories, memories.first))
        memories.first++;
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        if (has(&memories, kind) && kind == MEMORY_HOST)
            add_host(&memories, run);
        else if (has(&memories, kind))
            add_device(&memories, run, kind, choices->anyway);
    return memories;
}

void memories_describe(const struct memories *memories, json_t *plan)
{
    if (memories->description)
        object_add(plan, field_json("memory", memories->description));
}
