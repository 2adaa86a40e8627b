/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of load beside b_eff's patterns. */
#pragma once

#include "load.h"

enum load_kind { LOAD_INCAST, LOAD_ALLTOALL, LOAD_BROADCAST, LOAD_IO, LOAD_KINDS };
extern const char *const load_kind_names[]; /* NULL-terminated, indexed by enum load_kind */

enum { SENDS_AT_ONCE = 2 /* of a generating process */ };
enum { FILE_LOAD_BYTES = 1 << 20 /* the file of a generating process */ };

/* Length of a message of the load: a quarter of L_max, at most 1 MiB. */
int64_t load_message_bytes(int64_t l_max);

/* The log's description. Rank 0. */
json_t *load_kinds_json(const struct load *load, int64_t l_max);
