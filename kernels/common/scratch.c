/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"
#include "keeper.h"
#include "removal.h"

enum { REASON_LENGTH = 512 };

/* A handler can be handed nothing, so this is global. `armed` is set last and cleared first. */
static struct {
    char path[PATH_MAX];
    struct own_directory own;
    bool kept;
    volatile bool armed;
} scratch;

static void discard(void)
{
    if (scratch.armed && !scratch.kept)
        remove_own_directory(&scratch.own);
}

static void discard_at_failure(const struct failure *failure)
{
    (void)failure;
    discard();
}

/* A directory that stays is the user's: nobody removes it. */
static void unmark(void)
{
    char path[PATH_MAX];
    scratch_path(path, sizeof path, scratch.own.marker);
    unlink(path);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

/* Who created the directory marks it, who finds it there looks for the mark. Returns 0 or the error's number. */
static int take_possession(const char *parent, bool created)
{
    struct own_directory *own = &scratch.own;
    struct stat status = {0};
    int error = 0;
    const int directory = open(scratch.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || fstat(directory, &status) != 0 || !realpath(parent, own->parent) ||
        (created && !mark_own_directory(directory, own)))
        error = errno;
    own->owner = status.st_uid;
    if (!error && !created && !is_own_directory(directory, own))
        error = EEXIST;
    if (directory >= 0)
        close(directory);
    if (error && created)
        rmdir(scratch.path);
    scratch.armed = !error;
    if (!error && !scratch.kept)
        keeper_remove(own);
    return error;
}

static void choose_directory(const char *parent, const char *program, char reason[REASON_LENGTH])
{
    struct own_directory *own = &scratch.own;
    uint64_t random = 0;
    int error = 0;
    if (snprintf(scratch.path, sizeof scratch.path, "%s/%s-XXXXXX", parent, program) >= (int)sizeof scratch.path) {
        snprintf(reason, REASON_LENGTH, "the path '%.80s...' is too long", parent);
        return;
    }
    if (getrandom(&random, sizeof random, 0) != sizeof random || !mkdtemp(scratch.path)) {
        error = errno;
    } else {
        snprintf(own->name, sizeof own->name, "%s", strrchr(scratch.path, '/') + 1);
        snprintf(own->program, sizeof own->program, "%s", program);
        snprintf(own->marker, sizeof own->marker, ".coffeecup-%016" PRIx64, random);
        error = take_possession(parent, true);
    }
    if (error)
        snprintf(reason, REASON_LENGTH,
                 "cannot create a directory in '%.300s': %s; choose another one with --directory", parent,
                 strerror(error));
}

static void agree_on_error(int error)
{
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (error)
        fail_together("cannot create '%s' on every node: %s; choose another --directory", scratch.path,
                      strerror(error));
}

/* On a disk that only its own node sees, the node's first process creates the directory again. */
static void create_everywhere(const char *parent, int rank)
{
    bool created = rank == 0;
    int error = 0;
    if (rank != 0) {
        created = mkdir(scratch.path, 0700) == 0;
        error = created ? take_possession(parent, true) : errno == EEXIST ? 0 : errno;
    }
    agree_on_error(error);
    agree_on_error(created ? 0 : take_possession(parent, false));
}

const char *scratch_create(const char *parent, const char *program, bool keep)
{
    int rank;
    char reason[REASON_LENGTH] = "";
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    scratch.kept = keep;
    fail_do(discard_at_failure);
    interrupt_clean_with(discard);
    if (rank == 0)
        choose_directory(parent, program, reason);
    MPI_CHECK(MPI_Bcast(reason, sizeof reason, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        fail_together("%s", reason);
    MPI_CHECK(MPI_Bcast(scratch.path, sizeof scratch.path, MPI_CHAR, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(&scratch.own, sizeof scratch.own, MPI_BYTE, 0, MPI_COMM_WORLD));
    create_everywhere(parent, rank);
    if (keep)
        unmark();
    return scratch.path;
}

void scratch_path(char *path, size_t path_bytes, const char *name)
{
    if (snprintf(path, path_bytes, "%s/%s", scratch.path, name) >= (int)path_bytes)
        fail("the path '%.80s.../%s' is too long; choose another --directory", scratch.path, name);
}

void scratch_remove(void)
{
    int rank;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* nobody uses a file any more */
    if (rank == 0)
        discard();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* where the file system is shared, nothing is left for the others */
    if (rank != 0)
        discard();
    scratch.armed = false;
}
