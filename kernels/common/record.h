/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the log, and objects in them. A function for each type of value, so that the compiler checks the types. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct field {
    const char *name;
    json_t *value;
};

struct field field_int(const char *name, int64_t value);
struct field field_int_or_null(const char *name, bool is_known, int64_t value);
struct field field_real(const char *name, double value);
struct field field_bool(const char *name, bool value);
struct field field_text(const char *name, const char *value); /* as text_json(); NULL: null */
struct field field_json(const char *name, json_t *value);     /* takes ownership; NULL: out of memory */

/* The object with these fields in this order, such as OBJECT(field_int("rank", 1), field_text("host", name)). Without
 * memory the run fails with a clear error. */
#define OBJECT(...) object_of((const struct field[]){__VA_ARGS__, {NULL, NULL}})
json_t *object_of(const struct field fields[]);

/* Appends a field, or replaces its value. */
void object_add(json_t *object, struct field field);

json_t *list_of_ints(const int values[], int count);

/* A string, in which other bytes than those of UTF-8 become '?'. */
json_t *text_json(const char *text);

/* The same, null if there is no text. */
json_t *text_or_null(const char *text);
