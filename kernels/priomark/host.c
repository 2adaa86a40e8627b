/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h and priomark.h, whose functions are defined here. */
#include "host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "io_error.h"
#include "memory.h"
#include "page_cache.h"
#include "peers.h"
#include "random.h"
#include "scratch.h"

enum { MESSAGE_LENGTH = 1024, MOST_CASES = 100000 };

const char *const operation_names[PRIOMARK_OPERATIONS] = {"read", "write"};

/* --- the workload ------------------------------------------------------------------------------------------------- */

static const struct values *values_of(const struct priomark *run, const char *key)
{
    const struct priomark_key *keys = run->group->benchmark->keys;
    for (int k = 0; keys[k].name; k++)
        if (strcmp(keys[k].name, key) == 0)
            return &run->group->values[k];
    fail("%s reads the key '%s', which its table of keys lacks; fix the sub-benchmark", run->group->benchmark->name,
         key);
}

int priomark_count(const struct priomark *run, const char *key)
{
    return values_of(run, key)->count;
}

int64_t priomark_number(const struct priomark *run, const char *key, int i)
{
    return values_of(run, key)->number[i];
}

double priomark_share(const struct priomark *run, const char *key, int i)
{
    return values_of(run, key)->share[i];
}

const char *priomark_text(const struct priomark *run, const char *key, int i)
{
    return values_of(run, key)->text[i];
}

void priomark_refuse(const struct priomark *run, const char *key, const char *format, ...)
{
    char message[MESSAGE_LENGTH];
    const int line = key ? values_of(run, key)->line : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse("%s:%d: %s: %s", run->workload->path, line ? line : run->group->line, run->group->benchmark->name, message);
}

void priomark_add(struct priomark *run, const struct priomark_case *added)
{
    if (run->cases == run->room) {
        run->room = run->room ? 2 * run->room : 64;
        run->planned = reallocate(run->planned, (size_t)run->room, sizeof *run->planned);
    }
    if (run->cases == MOST_CASES)
        priomark_refuse(run, NULL, "more than %d cases; shorten the lists and ranges", MOST_CASES);
    run->planned[run->cases++] = (struct planned){*added, run->group};
}

/* --- the processes ------------------------------------------------------------------------------------------------ */

int priomark_rank(const struct priomark *run)
{
    return run->run->rank;
}

int priomark_ranks(const struct priomark *run)
{
    return run->run->ranks;
}

void priomark_barrier(struct priomark *run)
{
    (void)run;
    peers_arrive();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    peers_continue();
}

void priomark_fail(struct priomark *run, const char *format, ...)
{
    char message[MESSAGE_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fail("%s: %s", run->group->benchmark->name, message);
}

void priomark_stop(const struct priomark_file *file, const char *what, const char *reason, ...)
{
    char why[MESSAGE_LENGTH];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(why, sizeof why, reason, arguments);
    va_end(arguments);
    priomark_fail(file->run, "cannot %s '%s' through %s: %s", what, file->path, file->interface->name, why);
}

int64_t priomark_hint(const struct priomark_file *file, const char *name)
{
    return interface_hint(&file->run->workload->interfaces, name);
}

/* --- what is noted ------------------------------------------------------------------------------------------------ */

void priomark_begin(struct priomark *run)
{
    priomark_barrier(run);
    run->notes.day_seconds -= day_seconds();
    run->notes.begun = now_seconds();
}

void priomark_end(struct priomark *run)
{
    run->notes.ended = now_seconds();
    run->notes.day_seconds += day_seconds();
    run->notes.clocked_seconds += run->notes.ended - run->notes.begun;
}

void host_pause(struct priomark *run)
{
    run->notes.paused -= now_seconds();
}

void host_resume(struct priomark *run)
{
    run->notes.paused += now_seconds();
}

void priomark_request(struct priomark *run, enum priomark_operation operation, int64_t bytes, double seconds)
{
    run->notes.calls[operation]++;
    run->notes.bytes[operation] += bytes;
    latency_add(&run->notes.latency[operation], seconds);
    peers_progress(run->notes.calls[PRIOMARK_READ] + run->notes.calls[PRIOMARK_WRITE], UNKNOWN_OFFSET);
}

void priomark_phase(struct priomark *run, enum priomark_phase phase, double seconds)
{
    run->notes.phase[phase] += seconds;
}

void priomark_value(struct priomark *run, const char *name, double value)
{
    struct notes *notes = &run->notes;
    for (int i = 0; i < notes->values; i++)
        if (strcmp(notes->value[i].name, name) == 0) {
            notes->value[i].value += value;
            return;
        }
    if (notes->values == MOST_NOTED_VALUES)
        fail("%s notes more than %d values; fix the sub-benchmark", run->group->benchmark->name, MOST_NOTED_VALUES);
    snprintf(notes->value[notes->values].name, NAME_LENGTH, "%s", name);
    notes->value[notes->values++].value = value;
}

uint64_t priomark_seed(const struct priomark *run, uint64_t stream)
{
    uint64_t seed = random_number((uint64_t)run->workload->seed, (uint64_t)run->number);
    seed = random_number(seed, (uint64_t)run->repetition);
    return random_number(seed, stream);
}

/* --- files and data ----------------------------------------------------------------------------------------------- */

void priomark_path(const struct priomark *run, char *path, size_t path_bytes, const char *name)
{
    (void)run;
    scratch_path(path, path_bytes, name);
    peers_access(path);
}

void priomark_evict(struct priomark *run, const char *path)
{
    if (!run->workload->evict)
        return;
    const int error = page_cache_evict(path);
    if (error)
        priomark_fail(run, "cannot evict '%s' from the page cache: %s; %s", path, strerror(error),
                      error == ENOENT ? io_remedy(error, false, "") : "set evict = false in the workload");
    run->notes.evicted = true;
}

void priomark_evicted(struct priomark *run, bool all)
{
    run->notes.evicted = run->workload->evict && all;
}
