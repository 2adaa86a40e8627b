/* See version.h. */
#include "version.h"

const char *kernel_version(void)
{
    return COFFEECUP_VERSION;
}
