/* SPDX-License-Identifier: Apache-2.0 */
/* The remedy for a failed I/O call, the same in all kernels. */
#pragma once

#include <stdbool.h>

/* A remedy for an errno, in static storage. `less_data` tells how to make this kernel write less; `direct`: the file
 * was opened for direct I/O. */
const char *io_remedy(int error, bool direct, const char *less_data);
