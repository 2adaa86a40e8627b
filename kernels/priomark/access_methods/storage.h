/* SPDX-License-Identifier: Apache-2.0 */
/* The access methods of the kernel, each a row of the table of priomark_interface.h. All functions end the run if a
 * call fails. */
#pragma once

#include <mpi.h>

#include "priomark.h"

/* One per file. */
extern const struct priomark_interface posix_interface, posix_direct_interface, device_interface, aio_interface;
#if HAVE_LIBURING
extern const struct priomark_interface uring_interface;
#endif
#if HAVE_MPI_IO
extern const struct priomark_interface individual_interface, individual_collective_interface, explicit_interface,
    explicit_collective_interface;
#endif

/* How this kernel writes less. */
#define LESS_DATA "choose a smaller process_size or fewer files (`df -i` shows free inodes)"

/* The offset of a block in the file. */
int64_t block_offset(const struct priomark_file *file, int64_t block);

/* Read or write a range with as many POSIX calls as necessary; end the run if one fails. */
void posix_read(struct priomark_file *file, char *data, int64_t bytes, int64_t offset);
void posix_write(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset);

/* The same as posix_write(), unseen by libraries that observe pwrite(): Darshan counts only what is measured. */
void posix_fill(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset);

/* open(), for reading only where the case only reads. */
void posix_open(struct priomark_file *file, bool create);

/* fsync(). */
void posix_sync(struct priomark_file *file);

/* Ends the run: the operation that failed, and its errno. */
_Noreturn void posix_stop(const struct priomark_file *file, const char *what, int error);

/* Ends the run: a request to "read" or "write" these bytes was done only in part. */
_Noreturn void stop_short(const struct priomark_file *file, const char *what, int64_t done, int64_t bytes);
