/* SPDX-License-Identifier: Apache-2.0 */
/* Between a kernel and the system (loaded with LD_PRELOAD): what the kernel's own code reads about the machine comes
 * from the folder MADE_UP. Libraries, MPI among them, see the machine as it is.
 *
 * MADE_UP/proc/..., MADE_UP/sys/...   stand for files of these names; a link to nowhere stands for a file that is
 * missing MADE_UP/statfs                      "bsize frsize blocks bavail fsid0 fsid1" of every file system
 * MADE_UP/proc/stat.1, .2             for /proc/stat when it is read for the first and for the second time
 * MADE_UP/pages                       pages of physical memory
 * MADE_UP/cores                       number of processors; each process may run on all of them
 * MADE_UP/every                       except every k-th of them */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The next function of this name, and whether this one was called by the kernel's own code. */
#define NEXT(function) ((__typeof__(function) *)dlsym(RTLD_NEXT, #function))
#define IS_OURS is_in_program(__builtin_return_address(0))

static int is_in_program(const void *address)
{
    Dl_info caller, program;
    return dladdr(address, &caller) && dladdr((void *)getauxval(AT_PHDR), &program) &&
           caller.dli_fbase == program.dli_fbase;
}

/* MADE_UP/name in `path`; whether there is such an entry. */
static int is_made_up(const char *name, char path[PATH_MAX])
{
    struct stat entry;
    const char *folder = getenv("MADE_UP");
    return folder && snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && lstat(path, &entry) == 0;
}

static const char *instead_of(const char *name, char path[PATH_MAX])
{
    static int readings;
    char numbered[PATH_MAX];
    if (strncmp(name, "/proc/", 6) != 0 && strncmp(name, "/sys/", 5) != 0)
        return name;
    snprintf(numbered, sizeof numbered, "%s.%d", name, strcmp(name, "/proc/stat") == 0 ? ++readings : 0);
    return is_made_up(numbered, path) || is_made_up(name, path) ? path : name;
}

static FILE *made_up_file(const char *name)
{
    char path[PATH_MAX];
    return is_made_up(name, path) ? NEXT(fopen)(path, "r") : NULL;
}

static long made_up_number(const char *name, long otherwise)
{
    FILE *file = made_up_file(name);
    long number = otherwise;
    if (!file)
        return otherwise;
    if (fscanf(file, "%ld", &number) != 1)
        abort();
    fclose(file);
    return number;
}

FILE *fopen(const char *name, const char *mode)
{
    char path[PATH_MAX];
    return NEXT(fopen)(IS_OURS ? instead_of(name, path) : name, mode);
}

FILE *setmntent(const char *name, const char *mode)
{
    char path[PATH_MAX];
    return NEXT(setmntent)(IS_OURS ? instead_of(name, path) : name, mode);
}

int statfs(const char *name, struct statfs *system)
{
    const int code = NEXT(statfs)(name, system);
    FILE *file = IS_OURS ? made_up_file("statfs") : NULL;
    if (!file)
        return code;
    int identity[2];
    memset(system, 0, sizeof *system);
    if (fscanf(file, "%ld %ld %lu %lu %d %d", (long *)&system->f_bsize, (long *)&system->f_frsize, &system->f_blocks,
               &system->f_bavail, &identity[0], &identity[1]) != 6)
        abort();
    fclose(file);
    memcpy(&system->f_fsid, identity, sizeof identity);
    return 0;
}

long sysconf(int name)
{
    return IS_OURS && name == _SC_PHYS_PAGES ? made_up_number("pages", NEXT(sysconf)(name)) : NEXT(sysconf)(name);
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *cores)
{
    const size_t number = IS_OURS ? (size_t)made_up_number("cores", 0) : 0;
    if (number == 0)
        return NEXT(sched_getaffinity)(process, bytes, cores);
    if (8 * bytes < number) {
        errno = EINVAL;
        return -1;
    }
    const size_t every = (size_t)made_up_number("every", (long)number + 1);
    CPU_ZERO_S(bytes, cores);
    for (size_t core = 0; core < number; core++)
        if (core % every != every - 1)
            CPU_SET_S(core, bytes, cores);
    return 0;
}
