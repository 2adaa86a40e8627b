/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h. */
#include "record.h"

#include <stdlib.h>

#include "fail.h"
#include "memory.h"

struct field field_int(const char *name, int64_t value)
{
    return (struct field){name, json_integer(value)};
}

struct field field_int_or_null(const char *name, bool is_known, int64_t value)
{
    return (struct field){name, is_known ? json_integer(value) : json_null()};
}

struct field field_real(const char *name, double value)
{
    return (struct field){name, json_real(value)};
}

struct field field_bool(const char *name, bool value)
{
    return (struct field){name, json_boolean(value)};
}

struct field field_text(const char *name, const char *value)
{
    return (struct field){name, value ? text_json(value) : json_null()};
}

struct field field_json(const char *name, json_t *value)
{
    return (struct field){name, value};
}

void object_add(json_t *object, struct field field)
{
    if (json_object_set_new(object, field.name, field.value) != 0)
        fail("cannot form the field '%s' of the log: it is not a finite number, or memory is exhausted; use fewer "
             "processes on the node",
             field.name);
}

json_t *object_of(const struct field fields[])
{
    json_t *object = json_object();
    for (const struct field *field = fields; field->name; field++)
        object_add(object, *field);
    return object;
}

json_t *list_of_ints(const int values[], int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(values[i]));
    return list;
}

json_t *text_json(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *copy = copy_text(text);
    for (char *at = copy; *at; at++)
        if (*at & 0x80)
            *at = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *text_or_null(const char *text)
{
    return text && *text ? text_json(text) : json_null();
}
