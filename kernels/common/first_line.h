/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the operating system, such as those of /proc and /sys. */
#pragma once

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first line of the file at this path, without its newline; "" if the file cannot be read. */
__attribute__((format(printf, 3, 4))) static inline void read_first_line(char *line, size_t bytes, const char *path,
                                                                         ...)
{
    char whole[PATH_MAX];
    va_list values;
    va_start(values, path);
    vsnprintf(whole, sizeof whole, path, values);
    va_end(values);
    FILE *file = fopen(whole, "re");
    if (!file || !fgets(line, (int)bytes, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
}
