/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel ftio has in common with postprocess, as JSON. */
#include <stdio.h>

#include "phases.h"
#include "record.h"
#include "sizes.h"
#include "storage.h"

int main(void)
{
    json_t *stages = json_array(), *activities = json_object(), *methods = json_array(), *inputs = json_array();
    for (int s = 0; s < STAGES; s++)
        json_array_append_new(stages, json_string(stage_names[s]));
    for (int a = 0; a < ACTIVITIES; a++)
        object_add(activities, field_bool(activity_rows[a].name, activity_rows[a].io));
    for (const struct storage_method *method = storage_methods; method->name; method++)
        json_array_append_new(methods, json_string(method->name));
    for (int processes = 1; processes <= 64; processes++)
        json_array_append_new(inputs, OBJECT(field_int("processes", processes),
                                             field_int("automatic", automatic_input(processes, 1)),
                                             field_int("direct", automatic_input(processes, 32))));
    json_t *facts =
        OBJECT(field_json("stages", stages), field_json("activities", activities), field_json("storage", methods),
               field_json("inputs", inputs), field_int("element_bytes", ELEMENT_BYTES));
    json_dumpf(facts, stdout, 0);
    json_decref(facts);
}
