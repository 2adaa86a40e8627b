/* SPDX-License-Identifier: Apache-2.0 */
/* Reads traces given on the command line as the replay does; a line for each that is not sound. */
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "trace_read.h"

void fail(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    abort();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct trace trace;
        char reason[4096];
        if (!trace_read(&trace, argv[i], reason, sizeof reason))
            printf("%s\n", reason);
        trace_free(&trace);
    }
    return 0;
}
