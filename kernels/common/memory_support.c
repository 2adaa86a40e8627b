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
#include "vendor_calls.h"

enum { MOST_FUNCTIONS = 3 };
static const char alloc_kinds[] = "mpi_memory_alloc_kinds";

/* By the kind of memory. MPI 4.1 and its side document name kinds and their restrictors; the functions are those of
 * Open MPI and MPICH; `of_ucx` is the number that UCX gives to the kind. */
static const struct {
    const char *name, *restrictor;
    const char *functions[MOST_FUNCTIONS];
    int of_ucx;
} questions[MEMORY_KINDS] = {
    {NULL, NULL, {NULL}, 0},
    {"cuda", "device", {"MPIX_Query_cuda_support"}, 1},
    {"cuda", "managed", {"MPIX_Query_cuda_support"}, 2},
    {"rocm", "device", {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}, 3},
    {"rocm", "managed", {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}, 4},
    {"level_zero", "device", {"MPIX_Query_ze_support"}, 7},
    {"level_zero", "shared", {"MPIX_Query_ze_support"}, 8},
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

/* The kinds of memory that UCX can transfer here, one bit each; 0 if it does not tell. */
static uint64_t types_of_ucx(const struct ucx_calls *call)
{
    const struct ucx_parameters parameters = {.field_mask = UCX_FIELD_FEATURES, .features = UCX_TAGGED};
    struct ucx_attributes attributes = {.field_mask = UCX_FIELD_MEMORY_TYPES};
    ucx_context context;
    if (call->init_version(UCX_MAJOR, UCX_MINOR, &parameters, NULL, &context) != 0)
        return 0;
    if (call->context_query(context, &attributes) != 0)
        attributes.memory_types = 0;
    call->cleanup(context);
    return attributes.memory_types;
}

/* UCX is asked where the MPI library has loaded it: then it may transfer memory of which the library itself knows
 * nothing. */
static json_t *answer_of_ucx(int kind)
{
    struct ucx_calls call;
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return json_null();
    *(void **)&call.init_version = dlsym(library, "ucp_init_version");
    *(void **)&call.context_query = dlsym(library, "ucp_context_query");
    *(void **)&call.cleanup = dlsym(library, "ucp_cleanup");
    const bool known = call.init_version && call.context_query && call.cleanup;
    json_t *answer = known ? json_boolean(types_of_ucx(&call) >> questions[kind].of_ucx & 1) : json_null();
    dlclose(library);
    return answer;
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
    json_object_set_new(asked, "ucp_context_query", answer_of_ucx(kind));
    *supported = *supported || json_is_true(json_object_get(asked, "ucp_context_query"));
    return asked;
}
