/* SPDX-License-Identifier: Apache-2.0 */
/* See counter_files.h. */
#include "counter_files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter_rows.h"
#include "machine.h"

/* Files of sysfs have a page at most; /proc/net/dev a line of 128 bytes per device. */
enum { FILE_BYTES = 1 << 18, NAME_BYTES = 256 };

static char text[FILE_BYTES]; /* of the file that is being read */
static bool denied;           /* glob() could not read a directory: its function for errors has no argument of ours */

static int note_denied(const char *path, int error)
{
    (void)path;
    denied = denied || error == EACCES || error == EPERM;
    return 0;
}

/* The whole text of a file, "" and an error number if it could not be read. */
static int read_text(const char *path)
{
    size_t length = 0;
    ssize_t count = 0;
    text[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return errno;
    while (length < sizeof text - 1 && (count = read(file, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)count;
    const int error = count < 0 ? errno : 0;
    close(file);
    text[error ? 0 : length] = '\0';
    return error;
}

/* The number at the begin of a text; the value and a unit or time may follow it, as in "27 J 1600 us" and "27@1600". */
static bool parse_number(const char *at, int64_t *number)
{
    char *end;
    at += strspn(at, " \t");
    if (!isdigit((unsigned char)*at))
        return false;
    errno = 0;
    const unsigned long long value = strtoull(at, &end, 10);
    if (errno || value > INT64_MAX || (*end && *end != '@' && !isspace((unsigned char)*end)))
        return false;
    *number = (int64_t)value;
    return true;
}

static json_t *number_or_word(bool is_number, int64_t number)
{
    return is_number ? json_integer(number) : json_string("unreadable");
}

/* The text of a file beside `path`, without what follows its first line; "" if it cannot be read. */
static void read_beside(const char *path, const char *name, char *value, size_t bytes)
{
    char beside[PATH_MAX];
    value[0] = '\0';
    if (!name || snprintf(beside, sizeof beside, "%.*s%s", (int)(strrchr(path, '/') + 1 - path), path, name) >=
                     (int)sizeof beside)
        return;
    if (read_text(beside) == 0)
        snprintf(value, bytes, "%.*s", (int)strcspn(text, "\t\n"), text);
}

/* Appends what the `*` of a pattern stands for between two slashes. */
static void append_matched(const char *pattern, size_t pattern_length, const char *path, size_t length, char *instance)
{
    const char *star = memchr(pattern, '*', pattern_length);
    if (!star)
        return;
    const size_t before = (size_t)(star - pattern), after = pattern_length - before - 1, used = strlen(instance);
    if (length >= before + after)
        snprintf(instance + used, NAME_BYTES - used, "%s%.*s", used ? "/" : "", (int)(length - before - after),
                 path + before);
}

static void find_instance(const char *pattern, const char *path, char instance[NAME_BYTES])
{
    instance[0] = '\0';
    while (*pattern && *path) {
        const size_t pattern_length = strcspn(pattern, "/"), length = strcspn(path, "/");
        append_matched(pattern, pattern_length, path, length, instance);
        pattern += pattern_length + (pattern[pattern_length] == '/');
        path += length + (path[length] == '/');
    }
}

/* A sum is a number only if all that it sums up are. */
static void put(json_t *values, const struct counter_row *row, const char *instance, int64_t largest, json_t *value)
{
    char key[3 * NAME_BYTES], limit[24] = "";
    if (largest > 0)
        snprintf(limit, sizeof limit, "%" PRId64, largest);
    snprintf(key, sizeof key, "%s\t%s\t%s", row->name, row->fold == FOLD_NONE ? instance : "", limit);
    const json_t *before = row->fold == FOLD_SUM ? json_object_get(values, key) : NULL;
    if (json_is_integer(before) && json_is_integer(value)) {
        json_int_t sum = 0;
        const bool fits = !__builtin_add_overflow(json_integer_value(before), json_integer_value(value), &sum);
        json_decref(value);
        value = number_or_word(fits, sum);
    } else if (json_is_string(before)) {
        json_decref(value);
        return;
    }
    if (json_object_set_new(values, key, value) != 0) { /* the name is not UTF-8 */
        json_t *clean = text_json(key);
        json_object_set_new(values, json_string_value(clean), json_string("unreadable"));
        json_decref(clean);
    }
}

static void read_devices(json_t *values, const struct counter_row *row)
{
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *colon = strchr(line, ':');
        int64_t number = 0;
        if (!colon)
            continue;
        *colon = '\0';
        const char *device = line + strspn(line, " "), *at = colon + 1;
        if (strcmp(device, "lo") == 0)
            continue;
        for (int field = 1; field < row->field; field++) {
            at += strspn(at, " ");
            at += strcspn(at, " ");
        }
        const bool is_number = parse_number(at, &number);
        put(values, row, device, 0, number_or_word(is_number, number));
    }
}

static void read_file(json_t *values, const struct counter_row *row, const char *root, const char *path)
{
    char instance[NAME_BYTES], label[NAME_BYTES], text_of_limit[NAME_BYTES];
    int64_t number = 0, largest = 0;
    find_instance(row->files, path + strlen(root), instance);
    read_beside(path, row->largest, text_of_limit, sizeof text_of_limit);
    if (!parse_number(text_of_limit, &largest))
        largest = 0;
    read_beside(path, row->label, label, sizeof label);
    const size_t used = strlen(instance);
    if (label[0])
        snprintf(instance + used, sizeof instance - used, "%s%s", used ? " " : "", label);

    const int error = read_text(path);
    if (error == ENOENT)
        return;
    if (error == EACCES || error == EPERM)
        put(values, row, instance, largest, json_string("forbidden"));
    else if (error || row->form == FORM_NUMBER) {
        const bool is_number = !error && parse_number(text, &number);
        put(values, row, instance, largest, number_or_word(is_number, number));
    } else {
        read_devices(values, row);
    }
}

json_t *counter_files_read(const char *root, bool only_energy)
{
    json_t *values = json_object();
    for (const struct counter_row *row = counter_rows; row->name; row++) {
        char pattern[PATH_MAX];
        glob_t found = {0};
        if ((only_energy && !row->energy) ||
            snprintf(pattern, sizeof pattern, "%s%s", root, row->files) >= (int)sizeof pattern)
            continue;
        denied = false;
        if (glob(pattern, 0, note_denied, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++)
                read_file(values, row, root, found.gl_pathv[i]);
        if (denied)
            put(values, row, "", 0, json_string("forbidden"));
        globfree(&found);
    }
    return values;
}
