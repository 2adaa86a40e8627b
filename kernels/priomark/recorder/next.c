/* SPDX-License-Identifier: Apache-2.0 */
/* The libc functions to which calls are passed on. See recorder.h. */
#include "recorder.h"

#include <dlfcn.h>
#include <stdatomic.h>

static struct next_calls calls;
static atomic_bool resolved;

/* ISO C has no conversion of an object's address to a function's, POSIX guarantees that it works. */
static void find(void *function, const char *name)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

/* Alone, because allocators call mmap() first, and a search for all functions may allocate. */
long next_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static _Atomic(void *) known;
    void *found = atomic_load_explicit(&known, memory_order_acquire);
    long (*next)(long, ...);
    if (!found) {
        found = dlsym(RTLD_NEXT, "syscall");
        atomic_store_explicit(&known, found, memory_order_release);
    }
    *(void **)&next = found;
    return next(number, a, b, c, d, e, f);
}

/* Other libraries may be initialised, and call us, before this one. Two threads that get here together find the same.
 */
const struct next_calls *next_calls(void)
{
    if (!atomic_load_explicit(&resolved, memory_order_acquire)) {
#define FIND(name) find(&calls.name, #name);
        NEXT_CALLS(FIND)
#undef FIND
        atomic_store_explicit(&resolved, true, memory_order_release);
    }
    return &calls;
}
