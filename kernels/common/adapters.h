/* SPDX-License-Identifier: Apache-2.0 */
/* Network adapters of this node, as this process sees them, that lose their link: a cable or the other end is gone. */
#ifndef COFFEECUP_ADAPTERS_H
#define COFFEECUP_ADAPTERS_H

#include <jansson.h>

/* When the run starts. */
void adapters_begin(void);

/* The names of adapters that had a link then and have none now. */
json_t *adapters_lost(void);

#endif
