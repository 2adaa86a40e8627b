/* SPDX-License-Identifier: Apache-2.0 */
/* See kinds.h. */
#include "kinds.h"

#include "units.h"

enum { SHARE_OF_L_MAX = 4 };

const char *const load_kind_names[] = {"incast", "alltoall", "broadcast", "io", NULL};

int64_t load_message_bytes(int64_t l_max)
{
    const int64_t bytes = l_max / SHARE_OF_L_MAX;
    return bytes < MIB ? bytes : MIB;
}

json_t *load_kinds_json(const struct load *load, int64_t l_max)
{
    json_t *description = load_json(load, load_kind_names);
    json_object_set_new(description, "message_bytes", json_integer(load_message_bytes(l_max)));
    json_object_set_new(description, "sends_at_once", json_integer(SENDS_AT_ONCE));
    if (load->kinds >> LOAD_IO & 1)
        json_object_set_new(description, "file_bytes", json_integer(FILE_LOAD_BYTES));
    return description;
}
