/* See cores.h. */
#include "cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fail.h"

static cpu_set_t cores_of(pid_t process)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(process, sizeof cores, &cores);
    return cores;
}

cpu_set_t allowed_cores(void)
{
    return cores_of(0);
}

static int count_together(const cpu_set_t *mine, MPI_Comm node)
{
    cpu_set_t all;
    MPI_CHECK(MPI_Allreduce(mine, &all, sizeof all, MPI_BYTE, MPI_BOR, node));
    return CPU_COUNT(&all);
}

int count_cores(MPI_Comm node)
{
    const cpu_set_t mine = allowed_cores();
    return count_together(&mine, node);
}

int count_offered_cores(MPI_Comm node)
{
    const cpu_set_t mine = allowed_cores(), starter = cores_of(getppid());
    cpu_set_t offered;
    CPU_OR(&offered, &mine, &starter);
    return count_together(&offered, node);
}

int count_online_cores(void)
{
    return get_nprocs();
}

cpu_set_t *gather_cores(int rank, int ranks)
{
    const cpu_set_t mine = allowed_cores();
    cpu_set_t *all = rank == 0 ? malloc((size_t)ranks * sizeof *all) : NULL;
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD));
    return all;
}

json_t *cores_json(const cpu_set_t *cores)
{
    enum { LONGEST = sizeof "-1023,1023" };
    char text[CPU_SETSIZE * LONGEST / 2];
    int length = 0, last = 0;
    text[0] = '\0';
    for (int first = 0; first < CPU_SETSIZE; first = last + 1) {
        last = first;
        if (!CPU_ISSET(first, cores))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cores))
            last++;
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", length ? "," : "", first);
        if (last > first)
            length += snprintf(text + length, sizeof text - (size_t)length, "-%d", last);
    }
    return json_string(text);
}
