/* SPDX-License-Identifier: Apache-2.0 */
/* See io_error.h. */
#include "io_error.h"

#include <errno.h>
#include <stdio.h>

const char *io_remedy(int error, bool direct, const char *less_data)
{
    static char text[256];
    if (error == ENOSPC || error == EDQUOT) {
        snprintf(text, sizeof text, "free some space or %s", less_data);
        return text;
    }
    if (error == ENOENT)
        return "was the directory removed during the run?";
    if (error == EINVAL && direct)
        return "this file system may not support direct I/O, or only with larger blocks; choose larger blocks, or data "
               "that exceeds the memory of the nodes without direct I/O";
    return "choose another --directory, or check the file system";
}
