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
#include "record.h"

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

/* What two instances of a row are together; takes ownership of `value`. */
static json_t *folded(enum counter_fold fold, const json_t *before, json_t *value)
{
    json_int_t first = json_integer_value(before), other = json_integer_value(value);
    bool fits = true;
    if (!json_is_integer(before)) { /* what has no sum, keeps its reason */
        json_t *kept = fold == FOLD_SUM ? json_deep_copy(before) : json_incref(value);
        json_decref(value);
        return kept;
    }
    if (fold == FOLD_SUM && !json_is_integer(value))
        fits = false;
    else if (fold == FOLD_SUM)
        fits = !__builtin_add_overflow(first, other, &first);
    else if (json_is_integer(value) && (fold == FOLD_LOWEST) == (other < first))
        first = other;
    const bool forbidden = strcmp(json_is_string(value) ? json_string_value(value) : "", "forbidden") == 0;
    json_decref(value);
    return fits ? json_integer(first) : json_string(forbidden ? "forbidden" : "unreadable");
}

/* Lustre appends the address of a structure to the name of a file system, another one on each node. */
static size_t without_address(const char *instance)
{
    enum { ADDRESS_LENGTH = 16 };
    const char *dash = strrchr(instance, '-');
    if (dash && strlen(dash + 1) == ADDRESS_LENGTH && strspn(dash + 1, "0123456789abcdef") == ADDRESS_LENGTH)
        return (size_t)(dash - instance);
    return strnlen(instance, NAME_BYTES);
}

static void put(json_t *values, const struct counter_row *row, const char *instance, int64_t largest, json_t *value)
{
    char key[3 * NAME_BYTES], limit[24] = "";
    if (largest > 0)
        snprintf(limit, sizeof limit, "%" PRId64, largest);
    const bool alone = row->fold == FOLD_NONE;
    snprintf(key, sizeof key, "%s\t%.*s\t%s", row->name, alone ? (int)without_address(instance) : 0, instance, limit);
    json_t *name = text_json(key); /* in UTF-8 */
    const json_t *before = alone ? NULL : json_object_get(values, json_string_value(name));
    json_object_set_new(values, json_string_value(name), before ? folded(row->fold, before, value) : value);
    json_decref(name);
}

static void put_number(json_t *values, const struct counter_row *row, const char *instance, int64_t largest,
                       const char *at)
{
    int64_t number = 0;
    const bool is_number = at && parse_number(at, &number);
    put(values, row, instance, largest, is_number ? json_integer(number) : json_string("unreadable"));
}

/* Where word `field` of a text begins; its end if it has fewer. */
static const char *find_word(const char *at, int field)
{
    at += strspn(at, " \t");
    for (int word = 1; word < field; word++) {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    return at;
}

static void read_devices(json_t *values, const struct counter_row *row)
{
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        const char *device = line + strspn(line, " ");
        if (strcmp(device, "lo") != 0)
            put_number(values, row, device, 0, find_word(colon + 1, row->field));
    }
}

/* What follows the first word of a line if it is `key`, otherwise NULL. */
static const char *after_key(const char *line, const char *key)
{
    const size_t length = strlen(key);
    line += strspn(line, " \t");
    return strncmp(line, key, length) == 0 && strchr(" \t", line[length]) ? line + length : NULL;
}

static void read_line(json_t *values, const struct counter_row *row, const char *instance)
{
    char *rest = text;
    const char *found = NULL;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *at = after_key(line, row->key);
        found = at ? at : found;
    }
    if (found)
        put_number(values, row, instance, 0, find_word(found, row->field));
}

/* "device SERVER:/EXPORT mounted on /PLACE with fstype nfs4 ...", then lines about it. */
static void read_mounts(json_t *values, const struct counter_row *row)
{
    char *rest = text, device[NAME_BYTES] = "";
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *name = after_key(line, "device"), *at = after_key(line, row->key);
        if (name) {
            name = find_word(name, 1);
            snprintf(device, sizeof device, "%.*s", (int)strcspn(name, " "), name);
            if (!strstr(line, " with fstype nfs"))
                device[0] = '\0';
        }
        if (at && device[0])
            put_number(values, row, device, 0, find_word(at, row->field));
    }
}

static void read_file(json_t *values, const struct counter_row *row, const char *root, const char *path)
{
    char instance[NAME_BYTES], label[NAME_BYTES], text_of_limit[NAME_BYTES];
    int64_t largest = 0;
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
    else if (error)
        put(values, row, instance, largest, json_string("unreadable"));
    else if (row->form == FORM_NUMBER)
        put_number(values, row, instance, largest, text);
    else if (row->form == FORM_DEVICES)
        read_devices(values, row);
    else if (row->form == FORM_LINE)
        read_line(values, row, instance);
    else
        read_mounts(values, row);
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
