/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of this node does, from /proc; see proc(5). */
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
