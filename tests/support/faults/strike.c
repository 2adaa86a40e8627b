/* SPDX-License-Identifier: Apache-2.0 */
/* Halts or fails a chosen call of a chosen process, in any kernel (loaded with LD_PRELOAD; built for each MPI).
 *
 * STRIKE_CALL    the name of the call
 * STRIKE_NUMBER  how many of them are left alone before
 * STRIKE_RANK    of which process
 * STRIKE_FILE    halts: this file is created and the process waits for its end; without it the call fails */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank(void)
{
    const char *open_mpi = getenv("OMPI_COMM_WORLD_RANK"), *mpich = getenv("PMI_RANK");
    return atoi(open_mpi ? open_mpi : mpich ? mpich : "0");
}

static int strikes(const char *call)
{
    static int calls;
    const char *chosen = getenv("STRIKE_CALL"), *number = getenv("STRIKE_NUMBER"), *victim = getenv("STRIKE_RANK");
    if (!chosen || strcmp(chosen, call) != 0 || atoi(victim ? victim : "0") != rank() ||
        calls++ != atoi(number ? number : "0"))
        return 0;
    const char *file = getenv("STRIKE_FILE");
    if (!file)
        return 1;
    close(open(file, O_CREAT | O_WRONLY, 0600));
    for (;;)
        pause();
}

#define STRUCK(name, parameters, arguments)                        \
    int name parameters                                            \
    {                                                              \
        return strikes(#name) ? MPI_ERR_OTHER : P##name arguments; \
    }

STRUCK(MPI_Sendrecv,
       (const void *a, int b, MPI_Datatype c, int d, int e, void *f, int g, MPI_Datatype h, int i, int j, MPI_Comm k,
        MPI_Status *l),
       (a, b, c, d, e, f, g, h, i, j, k, l))
STRUCK(MPI_Sendrecv_replace, (void *a, int b, MPI_Datatype c, int d, int e, int f, int g, MPI_Comm h, MPI_Status *i),
       (a, b, c, d, e, f, g, h, i))
STRUCK(MPI_Alltoallv,
       (const void *a, const int *b, const int *c, MPI_Datatype d, void *e, const int *f, const int *g, MPI_Datatype h,
        MPI_Comm i),
       (a, b, c, d, e, f, g, h, i))
STRUCK(MPI_Waitall, (int a, MPI_Request *b, MPI_Status *c), (a, b, c))
STRUCK(MPI_Gather, (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g, MPI_Comm h),
       (a, b, c, d, e, f, g, h))
STRUCK(MPI_File_open, (MPI_Comm a, const char *b, int c, MPI_Info d, MPI_File *e), (a, b, c, d, e))
STRUCK(MPI_File_write, (MPI_File a, const void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
STRUCK(MPI_File_write_all, (MPI_File a, const void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
STRUCK(MPI_File_read, (MPI_File a, void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
STRUCK(MPI_File_read_all, (MPI_File a, void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
STRUCK(MPI_File_sync, (MPI_File a), (a))

static int error(void)
{
    errno = EIO;
    return -1;
}

ssize_t pread(int file, void *data, size_t bytes, off_t offset)
{
    ssize_t (*next)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    return strikes("pread") ? error() : next(file, data, bytes, offset);
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    return strikes("pwrite") ? error() : next(file, data, bytes, offset);
}

/* Of the run's own directory alone, which is below "disk"; strikes after the call. */
int mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
    const int code = next(path, mode);
    return strncmp(path, "disk/", 5) == 0 && strikes("mkdir") ? error() : code;
}

/* Of the log alone. */
char *realpath(const char *path, char *resolved)
{
    char *(*next)(const char *, char *) = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");
    const size_t length = strlen(path);
    return length > 6 && strcmp(path + length - 6, ".jsonl") == 0 && strikes("realpath") ? NULL : next(path, resolved);
}

int fsync(int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return strikes("fsync") ? error() : next(file);
}

int fdatasync(int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return strikes("fdatasync") ? error() : next(file);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    return strikes("rename") ? error() : next(from, to);
}
