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
#include "gather.h"
#include "interrupt.h"
#include "keeper.h"
#include "overlap.h"
#include "removal.h"

enum { REASON_LENGTH = 512, ATTEMPTS = 100 };

/* Global, because a handler has no arguments for it. `armed` is set last and cleared first. */
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

/* A directory that is kept belongs to the user: without a marker, nothing removes it. */
static void unmark(void)
{
    char path[PATH_MAX];
    scratch_path(path, sizeof path, scratch.own.marker);
    unlink(path);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

/* The keeper learns of the directory before it exists: a kill right after mkdir() then leaves nothing behind. Returns 0
 * or an errno. */
static int make_directory(const char *parent)
{
    struct own_directory *own = &scratch.own;
    if (!realpath(parent, own->parent))
        return errno;
    own->owner = geteuid();
    own->marked = false;
    if (!scratch.kept)
        keeper_remove(own);
    return mkdir(scratch.path, 0700) == 0 ? 0 : errno;
}

/* The process that created the directory marks it, others check the mark. Returns 0 or an errno. */
static int take_possession(bool created)
{
    struct own_directory *own = &scratch.own;
    struct stat status = {0};
    int error = 0;
    const int directory = open(scratch.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || fstat(directory, &status) != 0 || (created && !mark_own_directory(directory, own)))
        error = errno;
    own->owner = status.st_uid;
    own->marked = true;
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

/* The names of the directory and its marker. Returns 0 or an errno. */
static int draw_names(const char *parent, const char *program)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    struct own_directory *own = &scratch.own;
    unsigned char random[RANDOM_LETTERS];
    char suffix[RANDOM_LETTERS + 1] = "";
    uint64_t secret;
    if (getrandom(random, sizeof random, 0) != sizeof random || getrandom(&secret, sizeof secret, 0) != sizeof secret)
        return errno;
    for (int i = 0; i < RANDOM_LETTERS; i++)
        suffix[i] = letters[random[i] % (sizeof letters - 1)];
    snprintf(own->program, sizeof own->program, "%s", program);
    snprintf(own->name, sizeof own->name, "%s-%s", program, suffix);
    snprintf(own->marker, sizeof own->marker, MARKER_PREFIX "%016" PRIx64, secret);
    return snprintf(scratch.path, sizeof scratch.path, "%s/%s", parent, own->name) < (int)sizeof scratch.path
               ? 0
               : ENAMETOOLONG;
}

static void choose_directory(const char *parent, const char *program, char reason[REASON_LENGTH])
{
    int error = EEXIST;
    for (int attempt = 0; error == EEXIST && attempt < ATTEMPTS; attempt++) {
        error = draw_names(parent, program);
        if (!error)
            error = make_directory(parent);
    }
    if (!error)
        error = take_possession(true);
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

/* On a node's local disk, the first process of the node to arrive creates the directory there as well. */
static void create_everywhere(const char *parent, int rank)
{
    bool created = rank == 0;
    int error = 0;
    if (rank != 0) {
        error = make_directory(parent);
        created = !error;
        error = created ? take_possession(true) : error == EEXIST ? 0 : error;
    }
    agree_on_error(error);
    agree_on_error(created ? 0 : take_possession(false));
}

const char *scratch_create(const char *parent, const char *program, bool keep)
{
    const int rank = rank_in(MPI_COMM_WORLD);
    char reason[REASON_LENGTH] = "";
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
    if (rank == 0)
        overlap_look(scratch.own.parent, scratch.own.name);
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
    const int rank = rank_in(MPI_COMM_WORLD);
    char marker[PATH_MAX];
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* now no process uses a file any more */
    if (rank == 0) {
        scratch_path(marker, sizeof marker, scratch.own.marker);
        overlap_look_at_marker(marker);
        overlap_look(scratch.own.parent, scratch.own.name);
        discard();
    }
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* on a shared file system, nothing is left for the others */
    if (rank != 0)
        discard();
    scratch.armed = false;
}
