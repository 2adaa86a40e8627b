/* SPDX-License-Identifier: Apache-2.0 */
/* See cores.h. */
#include "cores.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fail.h"

/* Empty if the process has ended. */
static struct core_set cores_of(pid_t process)
{
    struct core_set cores = {0};
    sched_getaffinity(process, sizeof cores, cores.parts);
    return cores;
}

struct core_set allowed_cores(void)
{
    const struct core_set cores = cores_of(0);
    if (core_count(&cores) == 0)
        fail("the system does not report on which processors this process may run; at most %d processors are supported",
             MOST_CORES);
    return cores;
}

int core_count(const struct core_set *cores)
{
    return CPU_COUNT_S(sizeof *cores, cores->parts);
}

static int count_together(const struct core_set *mine, MPI_Comm node)
{
    struct core_set all;
    MPI_CHECK(MPI_Allreduce(mine, &all, sizeof all, MPI_BYTE, MPI_BOR, node));
    return core_count(&all);
}

int count_cores(MPI_Comm node)
{
    const struct core_set mine = allowed_cores();
    return count_together(&mine, node);
}

int count_offered_cores(MPI_Comm node)
{
    const struct core_set mine = allowed_cores(), starter = cores_of(getppid());
    struct core_set offered;
    CPU_OR_S(sizeof offered, offered.parts, mine.parts, starter.parts);
    return count_together(&offered, node);
}

int count_online_cores(void)
{
    const int online = get_nprocs(); /* read from a file, so any number is possible */
    return online < MOST_CORES ? online : MOST_CORES;
}

/* Appends the value of a line "NAME : VALUE" if it has this name. */
static void append_value(const char *line, const char *name, char *model, size_t size)
{
    const char *value = strchr(line, ':');
    const size_t length = strlen(name), used = strlen(model);
    if (!value || strncmp(line, name, length) != 0 || (size_t)(value - line) != length + strspn(line + length, " \t"))
        return;
    value += 1 + strspn(value + 1, " \t");
    snprintf(model + used, size - used, "%s%.*s", used ? " " : "", (int)strcspn(value, "\n"), value);
}

void processor_model(const char *path, char *model, size_t size)
{
    static const char *const names[] = {"model name", "cpu model", "cpu", "CPU implementer", "CPU part"};
    char line[1024];
    model[0] = '\0';
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file) && !(line[0] == '\n' && model[0]))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            append_value(line, names[i], model, size);
    if (file)
        fclose(file);
}

static bool has(const struct core_set *cores, int core)
{
    return core < MOST_CORES && CPU_ISSET_S((size_t)core, sizeof *cores, cores->parts);
}

json_t *cores_json(const struct core_set *cores)
{
    enum { LONGEST = sizeof "-8191,8191" }; /* the longest text has 26 568 characters: pairs of cores with gaps */
    char text[MOST_CORES * LONGEST / 2];
    int length = 0, last = 0;
    text[0] = '\0';
    for (int first = 0; first < MOST_CORES; first = last + 1) {
        last = first;
        if (!has(cores, first))
            continue;
        while (has(cores, last + 1))
            last++;
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", length ? "," : "", first);
        if (last > first)
            length += snprintf(text + length, sizeof text - (size_t)length, "-%d", last);
    }
    return json_string(text);
}
