/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of this node does and who started it, from /proc; see proc(5). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct process_state {
    const char *name;   /* running, sleeping, in the kernel, stopped, traced, zombie, gone */
    char function[128]; /* of the kernel in which it waits, as far as this user may read it; otherwise "" */
};

/* The letter of its state; X if there is no such process. */
char process_letter(pid_t process);

/* Whether a process of this letter waits within a call of the kernel, and signals do not end it. */
bool is_in_kernel(char letter);

/* Of its thread that waits in the kernel, if one does: libraries access files in threads of their own. Otherwise of the
 * process. */
struct process_state process_state(pid_t process);

/* Whether a process was given a rank when it was started; also if its environment cannot be read. Only a launcher gives
 * a rank without having one. MPI_Init does not change what /proc shows. */
bool process_has_rank(pid_t process);

/* The mpiexec of Hydra (MPICH, Intel MPI) that started this launcher on the same node; 0: there is none. It waits until
 * all processes have closed what they inherited, also after the end of the launcher. */
pid_t process_mpiexec(pid_t launcher);
