/* SPDX-License-Identifier: Apache-2.0 */
/* See environment.h. */
#include "environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gather.h"
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

json_t *differing_environment(void)
{
    json_t *mine = steering_environment(), *names = json_object(), *all_names = json_object(), *list = json_array();
    char *own = rank_in(MPI_COMM_WORLD) == 0 ? json_dumps(mine, JSON_COMPACT) : NULL;
    char *text = text_of_rank_0(own);
    json_t *first = json_loads(text, 0, NULL);
    add_differing(names, mine, first);
    add_differing(names, first, mine);
    /* without any, which is usual, nothing is sent */
    json_t *all = gather_json(json_object_size(names) > 0 ? json_incref(names) : NULL), *some, *unused;
    size_t place;
    const char *name;
    json_array_foreach(all, place, some) json_object_update(all_names, some);
    json_object_foreach(all_names, name, unused) json_array_append_new(list, json_string(name));
    free(own);
    free(text);
    json_decref(first);
    json_decref(mine);
    json_decref(names);
    json_decref(all);
    json_decref(all_names);
    return list;
}
