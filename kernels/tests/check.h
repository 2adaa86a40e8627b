/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a test program requires: counted conditions, and a status for CTest. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static long checks_done, checks_failed;

/* Prints the place and values of a failed condition; only the first hundred, so that the output of a loop stays
 * readable. */
static void check_that(bool holds, const char *condition, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    checks_done++;
    if (holds || checks_failed++ >= 100)
        return;
    printf("%s:%d: %s: ", file, line, condition);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* CHECK(condition, format, ...): the format prints the values. */
#define CHECK(condition, ...) check_that((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

static int checks_status(void)
{
    printf("%ld of %ld conditions hold\n", checks_done - checks_failed, checks_done);
    return checks_done == 0 || checks_failed > 0;
}
