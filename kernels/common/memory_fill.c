/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_fill.h. */
#include "memory_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"
#include "page_cache.h"
#include "units.h"

static const double usable_share = 0.95; /* of the available memory: the system itself needs some */

/* What each process of this node fills: whole pages. */
static int64_t part_bytes(const struct machine *machine, int64_t percent)
{
    const int64_t page = sysconf(_SC_PAGESIZE),
                  part = machine->node_memory_bytes / 100 * percent / machine->ranks_on_node;
    return part / page * page;
}

/* Whether the share does not fit on some node, and the numbers of the lowest rank there. */
static bool is_too_much(const struct machine *machine, int64_t percent, int64_t process_bytes, int64_t numbers[2])
{
    int first;
    const int64_t available = available_memory_bytes(), processes = machine->ranks_on_node;
    numbers[0] = part_bytes(machine, percent) * processes;
    numbers[1] = (int64_t)(usable_share * (double)available) - process_bytes * processes;
    const int mine = numbers[0] > numbers[1] ? rank_in(MPI_COMM_WORLD) : INT32_MAX;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first == INT32_MAX)
        return false;
    MPI_CHECK(MPI_Bcast(numbers, 2, MPI_INT64_T, first, MPI_COMM_WORLD));
    return true;
}

#define TOO_MUCH                                                                \
    "--fill-memory %" PRId64 "%%: %" PRId64                                     \
    " bytes of a node are to be filled, but beside the processes only %" PRId64 \
    " are available; choose a smaller share, or end other programs on the node"

void memory_fill_check(const struct machine *machine, int64_t percent, int64_t process_bytes)
{
    int64_t numbers[2];
    if (percent && is_too_much(machine, percent, process_bytes, numbers))
        refuse(TOO_MUCH, percent, numbers[0], greater(0, numbers[1]));
}

struct memory_fill memory_fill_begin(const struct machine *machine, int64_t percent)
{
    struct memory_fill fill = {.percent = percent};
    int64_t numbers[2];
    if (!percent)
        return fill;
    if (is_too_much(machine, percent, 0, numbers))
        fail_together(TOO_MUCH, percent, numbers[0], greater(0, numbers[1]));
    fill.bytes = part_bytes(machine, percent);
    fill.available_bytes = available_memory_bytes();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); /* all processes of a node have seen the same memory */
    fill.memory = mmap(NULL, (size_t)fill.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fill.memory == MAP_FAILED)
        fail("--fill-memory: cannot allocate %" PRId64 " bytes: %s; choose a smaller share, or raise the limit "
             "(ulimit -v)",
             fill.bytes, strerror(errno));
    const int64_t page = sysconf(_SC_PAGESIZE);
    for (int64_t at = 0; at < fill.bytes; at += page) /* different pages, which the system cannot merge */
        memcpy(fill.memory + at, &at, sizeof at);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    return fill;
}

void memory_fill_end(const struct run *run, struct memory_fill *fill)
{
    if (!fill->memory)
        return;
    int64_t mine[] = {fill->bytes, greater(0, resident_bytes(fill->memory, fill->bytes))}, of_node[2];
    munmap(fill->memory, (size_t)fill->bytes);
    fill->memory = NULL;
    MPI_Comm node = node_communicator(run->machine.leader);
    MPI_CHECK(MPI_Allreduce(mine, of_node, 2, MPI_INT64_T, MPI_SUM, node));
    MPI_CHECK(MPI_Comm_free(&node));
    json_t *host = OBJECT(field_int("filled_bytes", of_node[0]), field_int("resident_bytes", of_node[1]),
                          field_int("available_before_bytes", fill->available_bytes));
    json_t *hosts = gather_from_nodes(run->machine.leader, host);
    if (run->log)
        log_write(run->log, "memory_fill",
                  OBJECT(field_int("share_percent", fill->percent), field_json("hosts", hosts)));
}
