/* See scratch.h. The directory is emptied with system calls only, because that may happen in a signal handler, where
 * opendir() is not allowed; whatever lies in it goes, also what an MPI library put beside the run's files. */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"

enum { REASON_LENGTH = 512, ENTRIES_BYTES = 8192, ATTEMPTS = 3 };

/* A handler can be handed nothing, so this is global. `armed` is set last and cleared first. */
static struct {
    char path[PATH_MAX];
    bool kept;
    volatile bool armed;
} scratch;

static void remove_entries(int directory)
{
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
    for (long bytes; (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < bytes;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            unlinkat(directory, entry->d_name, 0); /* refuses "." and "..", which is as well */
            at += entry->d_reclen;
        }
    }
}

void scratch_discard(void)
{
    if (!scratch.armed || scratch.kept)
        return;
    /* another process may create its file while this one cleans: look again */
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const int directory = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
            return;
        remove_entries(directory);
        close(directory);
        if (rmdir(scratch.path) == 0 || errno != ENOTEMPTY)
            return;
    }
}

void scratch_adopt(const char *path)
{
    snprintf(scratch.path, sizeof scratch.path, "%s", path);
    scratch.kept = false;
    scratch.armed = true;
}

static void choose_directory(const char *parent, const char *program, char reason[REASON_LENGTH])
{
    if (snprintf(scratch.path, sizeof scratch.path, "%s/%s-XXXXXX", parent, program) >= (int)sizeof scratch.path)
        snprintf(reason, REASON_LENGTH, "the path '%.80s...' is too long", parent);
    else if (!mkdtemp(scratch.path))
        snprintf(reason, REASON_LENGTH, "cannot create a directory in '%.300s': %s; choose another one with --directory",
                 parent, strerror(errno));
}

const char *scratch_create(const char *parent, const char *program, bool keep)
{
    int rank, failed;
    char reason[REASON_LENGTH] = "";
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    scratch.kept = keep;
    interrupt_clean_with(scratch_discard);
    if (rank == 0) {
        choose_directory(parent, program, reason);
        scratch.armed = !reason[0];
    }
    MPI_CHECK(MPI_Bcast(reason, sizeof reason, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        fail_together("%s", reason);

    MPI_CHECK(MPI_Bcast(scratch.path, sizeof scratch.path, MPI_CHAR, 0, MPI_COMM_WORLD));
    scratch.armed = true;
    failed = mkdir(scratch.path, 0700) != 0 && errno != EEXIST ? errno : 0; /* a disk that only this node sees */
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (failed)
        fail_together("cannot create '%s' on every node: %s; choose another --directory", scratch.path,
                      strerror(failed));
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
        scratch_discard();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* where the file system is shared, nothing is left for the others */
    if (rank != 0)
        scratch_discard();
    scratch.armed = false;
}
