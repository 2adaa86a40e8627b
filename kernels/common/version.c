/* SPDX-License-Identifier: Apache-2.0 */
/* See version.h. */
#include "version.h"

const char *kernel_version(void)
{
    return COFFEECUP_VERSION;
}
