/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder writes and the replay reads (docs/priomark_recording.md): names instead of this machine's numbers.
 */
#pragma once

#include <fcntl.h>

#define TRACE_FIRST_LINE "priomark-trace 1"

struct trace_flag {
    const char *name;
    int bits;
};

/* How a file was opened, as far as that matters to its data. O_SYNC comes before O_DSYNC, which is a part of it. */
static const struct trace_flag trace_flags[] = {{"O_CREAT", O_CREAT},   {"O_TRUNC", O_TRUNC}, {"O_APPEND", O_APPEND},
                                                {"O_DIRECT", O_DIRECT}, {"O_SYNC", O_SYNC},   {"O_DSYNC", O_DSYNC}};
static const struct trace_flag trace_modes[] = {{"O_RDONLY", O_RDONLY}, {"O_WRONLY", O_WRONLY}, {"O_RDWR", O_RDWR}};
enum {
    KNOWN_FLAGS = sizeof trace_flags / sizeof trace_flags[0],
    KNOWN_MODES = sizeof trace_modes / sizeof trace_modes[0]
};
