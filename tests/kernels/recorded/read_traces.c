/* SPDX-License-Identifier: Apache-2.0 */
/* Reads traces given on the command line as the replay does; a line for each that is refused. Each is read in a process
 * of its own first, because it ends there if it is refused. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "trace_read.h"

enum { REFUSED = 3 };

void fail(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    abort();
}

void priomark_refuse(const struct priomark *run, const char *key, const char *format, ...)
{
    va_list arguments;
    (void)run, (void)key;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    _exit(REFUSED);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            trace_read(NULL, argv[i]);
            _exit(EXIT_SUCCESS);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            return EXIT_FAILURE;
        if (WEXITSTATUS(status) == REFUSED)
            continue;
        if (WEXITSTATUS(status) != EXIT_SUCCESS)
            return EXIT_FAILURE;
        struct trace trace = trace_read(NULL, argv[i]);
        trace_free(&trace);
    }
    return EXIT_SUCCESS;
}
