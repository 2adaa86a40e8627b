/* SPDX-License-Identifier: Apache-2.0 */
/* See clocks.h. */
#include "clocks.h"

#include <stdio.h>
#include <string.h>

#include "record.h"

enum { MOST_PHASES = 64, NAME_BYTES = 64 };

static struct {
    char name[NAME_BYTES];
    double measured_seconds, day_seconds;
} phases[MOST_PHASES];
static int known;

void clocks_add(const char *phase, double measured_seconds, double by_day)
{
    int place = 0;
    while (place < known && strcmp(phases[place].name, phase) != 0)
        place++;
    if (place == MOST_PHASES)
        snprintf(phases[--place].name, NAME_BYTES, "others");
    if (place == known)
        snprintf(phases[known++].name, NAME_BYTES, "%s", phase);
    phases[place].measured_seconds += measured_seconds;
    phases[place].day_seconds += by_day;
}

json_t *clocks_json(void)
{
    json_t *list = json_array();
    for (int place = 0; place < known; place++)
        json_array_append_new(list, OBJECT(field_text("phase", phases[place].name),
                                           field_real("measured_seconds", phases[place].measured_seconds),
                                           field_real("day_seconds", phases[place].day_seconds)));
    return list;
}
