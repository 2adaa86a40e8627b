/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: an object has its fields in their order, each with the type that its function states; a value that JSON
 * cannot express fails. */
#include "record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void fields_keep_their_order_and_types(void)
{
    const int numbers[] = {3, 1, 2};
    json_t *object = OBJECT(field_int("z", INT64_MAX), field_real("real", 2), field_bool("bool", 5),
                            field_text("text", "a\xff"), field_text("none", NULL), field_int_or_null("known", true, 0),
                            field_int_or_null("unknown", false, 7), field_json("list", list_of_ints(numbers, 3)));
    object_add(object, field_json("empty", text_or_null("")));
    char *text = json_dumps(object, JSON_COMPACT);
    CHECK(strcmp(text, "{\"z\":9223372036854775807,\"real\":2.0,\"bool\":true,\"text\":\"a?\",\"none\":null,"
                       "\"known\":0,\"unknown\":null,\"list\":[3,1,2],\"empty\":null}") == 0,
          "%s", text);
    free(text);
    json_decref(object);
}

static int status_with(double value)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        json_decref(OBJECT(field_real("seconds", value)));
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void a_number_that_json_has_not_fails(void)
{
    CHECK(status_with(1e308) == 0, "a finite number");
    CHECK(status_with(NAN) == 1, "not a number");
    CHECK(status_with(INFINITY) == 1, "infinity");
}

int main(void)
{
    fields_keep_their_order_and_types();
    a_number_that_json_has_not_fails();
    return checks_status();
}
