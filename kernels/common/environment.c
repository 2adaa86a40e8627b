/* SPDX-License-Identifier: Apache-2.0 */
/* See environment.h. */
#include "environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"
#include "record.h"

extern char **environ;

static bool starts_with_any(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

/* Whether a list, names with commas between them, has this one of so many characters. */
static bool is_listed(const char *list, const char *name, size_t length)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

json_t *steering_environment(void)
{
    static const char *const steering[] = {"OMPI_MCA_",
                                           "MPICH_",
                                           "MPIR_CVAR_",
                                           "I_MPI_",
                                           "MV2_",
                                           "UCX_",
                                           "FI_",
                                           "PSM2_",
                                           "ROMIO_",
                                           "SMPI_",
                                           "OMP_NUM_THREADS",
                                           "COFFEECUP_ASKED",
                                           "COFFEECUP_COMPARED",
                                           "LD_PRELOAD",
                                           "LD_AUDIT",
                                           NULL};
    /* set by the launcher for itself */
    static const char *const internal[] = {"OMPI_MCA_orte_",
                                           "OMPI_MCA_ess",
                                           "OMPI_MCA_pmix",
                                           "OMPI_MCA_initial_wdir",
                                           "OMPI_MCA_shmem_RUNTIME",
                                           "OMPI_MCA_plm",
                                           "OMPI_MCA_mpi_oversubscribe",
                                           "OMPI_MCA_num_procs",
                                           "OMPI_MCA_PREFIXES",
                                           "OMPI_MCA_cpu_type",
                                           "I_MPI_INFO_",
                                           "I_MPI_INTERNAL_",
                                           "I_MPI_HYDRA_UUID",
                                           "I_MPI_PIN_INFO",
                                           "I_MPI_PIN_MAPPING",
                                           "I_MPI_RETURN_",
                                           NULL};
    json_t *variables = json_object();
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        const char *equals = strchr(*entry, '=');
        const size_t length = equals ? (size_t)(equals - *entry) : sizeof name;
        const bool steers = starts_with_any(*entry, steering) && !starts_with_any(*entry, internal);
        if (length >= sizeof name || !(steers || is_listed(getenv("COFFEECUP_COMPARED"), *entry, length)))
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        json_object_set_new(variables, name, text_json(equals + 1));
    }
    return variables;
}

/* The text of rank 0 on all processes, to be freed. */
static char *text_of_rank_0(const char *text)
{
    int bytes = text ? (int)strlen(text) + 1 : 0;
    MPI_CHECK(MPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD));
    char *copy = text ? copy_text(text) : allocate((size_t)bytes, 1);
    MPI_CHECK(MPI_Bcast(copy, bytes, MPI_CHAR, 0, MPI_COMM_WORLD));
    return copy;
}

/* Adds the names of `variables` that have no such value in `others`. Open MPI 4 itself sets PSM2_DEVICES, in some
 * processes only. */
static void add_differing(json_t *names, json_t *variables, json_t *others)
{
    const char *name;
    json_t *value;
    json_object_foreach(variables, name, value)
    {
        if (!json_equal(value, json_object_get(others, name)) && strcmp(name, "PSM2_DEVICES") != 0)
            json_object_set_new(names, name, json_null());
    }
}

/* Rank 0: the names of all processes. Without any, which is usual, nothing is gathered. Takes over `names`. */
static json_t *gather_names(json_t *names)
{
    char *text = json_dumps(names, JSON_COMPACT);
    int bytes = json_object_size(names) > 0 ? (int)strlen(text) + 1 : 0, most = 0;
    MPI_CHECK(MPI_Allreduce(&bytes, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    char *mine = allocate((size_t)most + 1, 1);
    memcpy(mine, text, (size_t)bytes);
    char *all = most > 0 ? gather(MPI_COMM_WORLD, mine, (size_t)most) : NULL;
    for (int rank = 0; all && rank < size_of(MPI_COMM_WORLD); rank++) {
        json_t *some = json_loads(all + (size_t)rank * (size_t)most, 0, NULL);
        json_object_update(names, some);
        json_decref(some);
    }
    free(all);
    free(mine);
    free(text);
    return names;
}

json_t *differing_environment(void)
{
    json_t *mine = steering_environment(), *names = json_object();
    char *own = rank_in(MPI_COMM_WORLD) == 0 ? json_dumps(mine, JSON_COMPACT) : NULL;
    char *text = text_of_rank_0(own);
    json_t *first = json_loads(text, 0, NULL);
    add_differing(names, mine, first);
    add_differing(names, first, mine);
    names = gather_names(names);
    free(own);
    free(text);
    json_decref(first);
    json_decref(mine);
    json_t *list = json_array();
    const char *name;
    json_t *unused;
    json_object_foreach(names, name, unused) json_array_append_new(list, json_string(name));
    json_decref(names);
    return list;
}
