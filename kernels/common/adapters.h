/* SPDX-License-Identifier: Apache-2.0 */
/* Network adapters of this node, as this process sees them, that lose their link: a cable or the other end is gone. */
#pragma once

#include <jansson.h>

/* When the run starts. */
void adapters_begin(void);

/* The names of adapters that had a link then and have none now. */
json_t *adapters_lost(void);
