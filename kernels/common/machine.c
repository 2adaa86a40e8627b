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

/* The log's description of this node, still without its ranks. Collective over `node`. */
static json_t *host_json(const char *name, MPI_Comm node, int64_t memory_bytes)
{
    const int cores = count_cores(node), offered_cores = count_offered_cores(node);
    const char *topology = getenv("SLURM_TOPOLOGY_ADDR");
    json_t *fields =
        OBJECT(field_text("name", name), field_json("ranks", json_array()), field_json("core_sets", json_array()),
               field_int("cores", cores), field_int("offered_cores", offered_cores),
               field_int("online_cores", count_online_cores()), field_int("memory_bytes", memory_bytes),
               field_int("available_bytes", available_memory_bytes()));
    if (topology && *topology)
        object_add(fields, field_text("topology", topology));
    if (COFFEECUP_SIMULATED)
        return fields;
    char processor[256], text[160];
    struct utsname system;
    processor_model("/proc/cpuinfo", processor, sizeof processor);
    if (processor[0])
        object_add(fields, field_text("processor", processor));
    if (uname(&system) == 0) {
        snprintf(text, sizeof text, "%s %s", system.sysname, system.release);
        object_add(fields, field_text("system", text));
    }
    return fields;
}

/* The hosts in the order of their leaders, the lowest ranks on them; takes ownership of `host`. NULL on all ranks
 * except 0. */
static json_t *gather_hosts(json_t *host, int leader)
{
    const int ranks = size_of(MPI_COMM_WORLD);
    const struct core_set mine = allowed_cores();
    int *leaders = gather(MPI_COMM_WORLD, &leader, sizeof leader), nodes = 0;
    struct core_set *cores = gather(MPI_COMM_WORLD, &mine, sizeof mine);
    json_t *hosts = gather_from_nodes(leader, host);
    json_t **host_of_leader = hosts ? allocate((size_t)ranks, sizeof *host_of_leader) : NULL;
    for (int rank = 0; hosts && rank < ranks; rank++) {
        if (leaders[rank] == rank)
            host_of_leader[rank] = json_array_get(hosts, (size_t)nodes++);
        json_array_append_new(json_object_get(host_of_leader[leaders[rank]], "ranks"), json_integer(rank));
        json_array_append_new(json_object_get(host_of_leader[leaders[rank]], "core_sets"), cores_json(&cores[rank]));
    }
    free(host_of_leader);
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
    char name[MPI_MAX_PROCESSOR_NAME];
    host_name(name);
    MPI_Comm node = find_node(name);
    machine.ranks_on_node = size_of(node);
    machine.node_memory_bytes = node_memory_bytes(&machine.memory_source);
    json_t *host = host_json(name, node, machine.node_memory_bytes);
    const int rank = rank_in(MPI_COMM_WORLD);
    machine.leader = rank;
    MPI_CHECK(MPI_Bcast(&machine.leader, 1, MPI_INT, 0, node));
    MPI_CHECK(MPI_Comm_free(&node));
    machine.nodes = machine.leader == rank;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &machine.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    machine.hosts = gather_hosts(host, machine.leader);

    const struct core_set cores = allowed_cores();
    int binding[2] = {core_count(&cores), -core_count(&cores)}, extremes[2];
    MPI_CHECK(MPI_Reduce(binding, extremes, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank == 0)
        machine.mpi = describe_mpi(-extremes[1], extremes[0]);
    return machine;
}
