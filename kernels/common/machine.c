/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cores.h"
#include "fail.h"
#include "gather.h"
#include "memory.h"
#include "record.h"

struct host {
    char name[MPI_MAX_PROCESSOR_NAME];
    char topology[1024]; /* "" if the scheduler states none */
    char processor[256]; /* its model, "" if the system states none */
    char system[160];    /* "Linux 6.1.0-18-amd64", "" in simulations */
    int64_t memory_bytes, available_bytes;
    int cores, offered_cores, online_cores, ranks;
};

void host_name(char name[MPI_MAX_PROCESSOR_NAME])
{
    int length = 0;
    const char *slurm = getenv("SLURMD_NODENAME");
    memset(name, 0, MPI_MAX_PROCESSOR_NAME);
    if (slurm && *slurm)
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", slurm);
    else
        MPI_CHECK(MPI_Get_processor_name(name, &length));
}

/* The ranks that share memory and the name of the node. */
static MPI_Comm find_node(const char *name)
{
    MPI_Comm shared, node;
    int first = 0;
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    const int rank = rank_in(shared), size = size_of(shared);
    char *names = allocate((size_t)size, MPI_MAX_PROCESSOR_NAME);
    MPI_CHECK(MPI_Allgather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, shared));
    while (strcmp(names + (size_t)first * MPI_MAX_PROCESSOR_NAME, name) != 0)
        first++;
    MPI_CHECK(MPI_Comm_split(shared, first, rank, &node));
    free(names);
    MPI_CHECK(MPI_Comm_free(&shared));
    return node;
}

static json_t *host_json(const struct host *host)
{
    json_t *fields =
        OBJECT(field_text("name", host->name), field_json("ranks", json_array()), field_json("core_sets", json_array()),
               field_int("cores", host->cores), field_int("offered_cores", host->offered_cores),
               field_int("online_cores", host->online_cores), field_int("memory_bytes", host->memory_bytes),
               field_int("available_bytes", host->available_bytes));
    if (host->topology[0])
        json_object_set_new(fields, "topology", text_json(host->topology));
    if (host->processor[0])
        json_object_set_new(fields, "processor", text_json(host->processor));
    if (host->system[0])
        json_object_set_new(fields, "system", text_json(host->system));
    return fields;
}

/* The hosts in the order of their leaders, the lowest ranks on them. */
static json_t *collect_hosts(const struct host *host, const int *leaders, const struct core_set *cores, int ranks)
{
    json_t *hosts = json_array(), **host_of_leader = allocate((size_t)ranks, sizeof *host_of_leader);
    for (int rank = 0; rank < ranks; rank++) {
        const int leader = leaders[rank];
        struct host remote = *host;
        if (leader == rank) {
            if (rank != 0)
                MPI_CHECK(MPI_Recv(&remote, sizeof remote, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            host_of_leader[rank] = host_json(&remote);
            json_array_append_new(hosts, host_of_leader[rank]);
        }
        json_array_append_new(json_object_get(host_of_leader[leader], "ranks"), json_integer(rank));
        json_array_append_new(json_object_get(host_of_leader[leader], "core_sets"), cores_json(&cores[rank]));
    }
    free(host_of_leader);
    return hosts;
}

/* Rank 0 receives each rank's leader and each leader's host. */
static json_t *gather_hosts(const struct host *host, int leader, int rank, int ranks)
{
    const struct core_set mine = allowed_cores();
    int *leaders = gather(MPI_COMM_WORLD, &leader, sizeof leader);
    struct core_set *cores = gather(MPI_COMM_WORLD, &mine, sizeof mine);
    json_t *hosts = NULL;
    if (rank == 0)
        hosts = collect_hosts(host, leaders, cores, ranks);
    else if (leader == rank)
        MPI_CHECK(MPI_Send(host, sizeof *host, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    free(leaders);
    free(cores);
    return hosts;
}

#if HAVE_MPI_TOOLS
/* The name of a value of an MPI_T enumeration, "" if there is none: the index of an item is not its value. */
static void enum_name(MPI_T_enum choices, int value, char *name, int name_bytes)
{
    int items = 0, item_value, length;
    char unused[64];
    int unused_length = sizeof unused;
    name[0] = '\0';
    if (MPI_T_enum_get_info(choices, &items, unused, &unused_length) != MPI_SUCCESS)
        return;
    for (int i = 0; i < items; i++) {
        length = name_bytes;
        if (MPI_T_enum_get_item(choices, i, &item_value, name, &length) == MPI_SUCCESS && item_value == value)
            return;
    }
    name[0] = '\0';
}

/* Reads a control variable that is one `int`; without one of this name false. `choices`: NULL, or its enumeration. */
static bool control_variable(const char *name, int *value, MPI_T_enum *choices)
{
    int index, verbosity, binding, scope, values;
    MPI_Datatype type;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, choices, NULL, NULL, &binding, &scope) !=
            MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &values) != MPI_SUCCESS)
        return false;
    const bool is_read = values == 1 && MPI_T_cvar_read(handle, value) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return is_read;
}

/* Until Open MPI 4 a variable names the mechanism. Since 5 it is the component of `smsc` with the highest priority, if
 * the transport for shared memory can put and get; components that this system does not support have no variable. */
static void single_copy_of_open_mpi(char *name, int name_bytes)
{
    static const char *const components[] = {"xpmem", "cma", "knem", "accelerator"};
    enum { PUT_AND_GET = 2 | 4 };
    int value, highest = -1;
    MPI_T_enum choices = MPI_T_ENUM_NULL;
    if (control_variable("btl_vader_single_copy_mechanism", &value, &choices) && choices != MPI_T_ENUM_NULL)
        enum_name(choices, value, name, name_bytes);
    else if (control_variable("btl_sm_flags", &value, NULL) && value & PUT_AND_GET)
        for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
            char variable[64];
            snprintf(variable, sizeof variable, "smsc_%s_priority", components[i]);
            if (control_variable(variable, &value, NULL) && value > highest) {
                highest = value;
                snprintf(name, (size_t)name_bytes, "%s", components[i]);
            }
        }
}

/* Kernel-assisted copies can double or halve bandwidths inside a node. Open MPI states them in control variables; with
 * other libraries `name` becomes "". */
static void single_copy_mechanism(char *name, int name_bytes)
{
    int provided;
    name[0] = '\0';
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    single_copy_of_open_mpi(name, name_bytes);
    MPI_T_finalize();
}
#else
static void single_copy_mechanism(char *name, int name_bytes)
{
    (void)name_bytes;
    name[0] = '\0';
}
#endif

static json_t *describe_mpi(int cores_min, int cores_max)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, version, subversion;
    char standard[16], single_copy[64];
    MPI_CHECK(MPI_Get_library_version(library, &length));
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    library[strcspn(library, "\n")] = '\0';
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    single_copy_mechanism(single_copy, sizeof single_copy);
    return OBJECT(field_text("library", library), field_text("standard", standard),
                  field_int("binding_cores_min", cores_min), field_int("binding_cores_max", cores_max),
                  field_json("single_copy", text_or_null(single_copy)));
}

struct machine machine_describe(void)
{
    struct machine machine = {0};
    struct host host = {0};
    const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);

    const char *topology = getenv("SLURM_TOPOLOGY_ADDR");
    host_name(host.name);
    snprintf(host.topology, sizeof host.topology, "%s", topology ? topology : "");
#ifndef COFFEECUP_SIMULATED
    struct utsname system;
    processor_model("/proc/cpuinfo", host.processor, sizeof host.processor);
    if (uname(&system) == 0)
        snprintf(host.system, sizeof host.system, "%s %s", system.sysname, system.release);
#endif
    MPI_Comm node = find_node(host.name);
    host.ranks = size_of(node);
    host.cores = count_cores(node);
    host.offered_cores = count_offered_cores(node);
    host.online_cores = count_online_cores();
    host.memory_bytes = node_memory_bytes(&machine.memory_source);
    host.available_bytes = available_memory_bytes();
    machine.leader = rank;
    MPI_CHECK(MPI_Bcast(&machine.leader, 1, MPI_INT, 0, node));
    MPI_CHECK(MPI_Comm_free(&node));
    machine.nodes = machine.leader == rank;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &machine.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    machine.ranks_on_node = host.ranks;
    machine.node_memory_bytes = host.memory_bytes;
    machine.hosts = gather_hosts(&host, machine.leader, rank, ranks);

    const struct core_set cores = allowed_cores();
    int binding[2] = {core_count(&cores), -core_count(&cores)}, extremes[2];
    MPI_CHECK(MPI_Reduce(binding, extremes, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank == 0)
        machine.mpi = describe_mpi(-extremes[1], extremes[0]);
    return machine;
}
