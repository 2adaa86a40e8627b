/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_support.h. MPI libraries differ in the questions that they know, so that functions are searched at run
 * time. */
#include "memory_support.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "memory_kinds.h"

enum { MOST_FUNCTIONS = 3 };
static const char alloc_kinds[] = "mpi_memory_alloc_kinds";

/* By the kind of memory. MPI 4.1 and its side document name kinds and their restrictors; the functions are those of
 * Open MPI and MPICH. */
static const struct {
    const char *name, *restrictor;
    const char *functions[MOST_FUNCTIONS];
} questions[MEMORY_KINDS] = {
    {NULL, NULL, {NULL}},
    {"cuda", "device", {"MPIX_Query_cuda_support"}},
    {"cuda", "managed", {"MPIX_Query_cuda_support"}},
    {"rocm", "device", {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}},
    {"rocm", "managed", {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}},
    {"level_zero", "device", {"MPIX_Query_ze_support"}},
    {"level_zero", "shared", {"MPIX_Query_ze_support"}},
};

/* A kind of the list is NAME or NAME:RESTRICTOR:...; without restrictors all memory of that name is meant. */
static bool is_listed(const char *list, const char *name, const char *restrictor)
{
    bool listed = false;
    char *copy = copy_text(list), *rest = copy;
    while (!listed && rest) {
        char *entry = strsep(&rest, ",");
        if (strcmp(strsep(&entry, ":"), name) != 0)
            continue;
        listed = !entry;
        while (!listed && entry)
            listed = strcmp(strsep(&entry, ":"), restrictor) == 0;
    }
    free(copy);
    return listed;
}

/* The value of MPI 4.1 for the world, to be freed; NULL if the library does not state it. */
static char *stated_kinds(void)
{
    MPI_Info info;
    int flag = 0, length = 0;
    char *value = NULL;
    MPI_CHECK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    MPI_CHECK(MPI_Info_get_valuelen(info, alloc_kinds, &length, &flag));
    if (flag) {
        value = allocate((size_t)length + 1, 1);
        MPI_CHECK(MPI_Info_get(info, alloc_kinds, length, value, &flag));
    }
    MPI_CHECK(MPI_Info_free(&info));
    return value;
}

/* A list without the kind is no refusal: programs have to request kinds when they are started. */
json_t *memory_questions(int kind, bool *supported)
{
    json_t *asked = json_object();
    char *list = stated_kinds();
    *supported = list && is_listed(list, questions[kind].name, questions[kind].restrictor);
    json_object_set_new(asked, alloc_kinds, list ? json_string(list) : json_null());
    free(list);
    for (int i = 0; i < MOST_FUNCTIONS && questions[kind].functions[i]; i++) {
        const char *name = questions[kind].functions[i];
        union {
            void *address;
            int (*call)(void);
        } function = {dlsym(RTLD_DEFAULT, name)};
        const bool yes = function.address && function.call() == 1;
        json_object_set_new(asked, name, function.address ? json_boolean(yes) : json_null());
        *supported = *supported || yes;
    }
    return asked;
}
