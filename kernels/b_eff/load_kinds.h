/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of load beside b_eff's patterns (--load). */
#ifndef B_EFF_LOAD_KINDS_H
#define B_EFF_LOAD_KINDS_H

#include "load.h"

enum load_kind { LOAD_INCAST, LOAD_ALLTOALL, LOAD_BROADCAST, LOAD_IO, LOAD_KINDS };
extern const char *const load_kind_names[]; /* NULL-terminated, indexed by enum load_kind */

enum { FEWEST_NODES_OF_A_ROLE = 2, SENDS_AT_ONCE = 2 /* of a generating process */ };
enum { FILE_LOAD_BYTES = 1 << 20 /* the file of a generating process */ };

/* The three rows of the table of options. */
#define LOAD_OPTIONS(kinds, percent, path)                                                                           \
    {"load",                                                                                                         \
     OPTION_LIST,                                                                                                    \
     kinds,                                                                                                          \
     "LIST",                                                                                                         \
     "kinds of load: measure half of the nodes without load, and while the other half generates it. The result\n"    \
     "        is the factor by which the load slows down communication; there is no b_eff of the machine",           \
     0,                                                                                                              \
     0,                                                                                                              \
     load_kind_names},                                                                                               \
        OPTION_VICTIMS(percent),                                                                                     \
    {                                                                                                                \
        "directory", OPTION_TEXT, path, "DIR",                                                                       \
            "where --load io writes and reads files; the run creates its own directory there, and removes it", 0, 0, \
            NULL                                                                                                     \
    }

/* Length of a message of the load: a quarter of L_max, at most 1 MiB. */
int64_t load_message_bytes(int64_t l_max);

/* The log's description, NULL without load. Rank 0. */
json_t *load_kinds_json(const struct load *load, int64_t l_max);

#endif
