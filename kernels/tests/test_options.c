/* SPDX-License-Identifier: Apache-2.0 */
/* Options: what is accepted, and that refusals state the valid values. */
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "input_file.h"
#include "options.h"

static struct {
    bool quick;
    int64_t count, size, percent;
    double seconds;
    const char *text;
    uint64_t list;
} values;

static const char *const names[] = {"red", "green", "blue", NULL};

static const struct option_row rows[] = {
    FLAG_OPTION("quick", &values.quick, "no argument"),
    COUNT_OPTION("count", &values.count, "N", 2, 100, "a number"),
    SIZE_OPTION("size", &values.size, 1024, INT64_C(1) << 40, "bytes"),
    PERCENT_OPTION("percent", &values.percent, 1, 95, "a share"),
    SECONDS_OPTION("seconds", &values.seconds, 1, 3600, "a time"),
    TEXT_OPTION("text", &values.text, "FILE", "a name"),
    LIST_OPTION("list", &values.list, names, "some of them"),
    {0},
};
static const struct program program = {"kernel", "summary", "usage", rows};

/* Splits a command line at blanks. */
static const char *parse(const char *line)
{
    static char copy[512];
    static char *argv[32] = {"kernel"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    memset(&values, 0, sizeof values);
    return options_parse(&program, argc, argv);
}

static void sizes_are_numbers_with_a_binary_unit(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"0", 0},
                 {"1", 1},
                 {"4096", 4096},
                 {"17B", 17},
                 {"64KiB", 65536},
                 {"1MiB", 1 << 20},
                 {"3GiB", 3221225472},
                 {"2TiB", 2199023255552},
                 {"007", 7},
                 {"8388607TiB", INT64_C(8388607) << 40},
                 {"", -1},
                 {"-1", -1},
                 {"+1", -1},
                 {" 1", -1},
                 {"1 KiB", -1},
                 {"KiB", -1},
                 {"1KB", -1},
                 {"1kib", -1},
                 {"1K", -1},
                 {"1.5MiB", -1},
                 {"1PiB", -1},
                 {"0x10", -1},
                 {"1e6", -1},
                 {"abc", -1},
                 {"1MiBx", -1},
                 {"8388608TiB", -1},
                 {"9223372036854775808", -1},
                 {"99999999999999999999999999", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(parse_size(cases[i].text) == cases[i].bytes, "'%s' is %lld", cases[i].text,
              (long long)parse_size(cases[i].text));
}

static void every_kind_of_option_takes_its_value(void)
{
    const char *complaint =
        parse("--quick --count 7 --size=64KiB --percent 95% --seconds 2.5 --text=a/b.jsonl --list blue,red");
    CHECK(!complaint, "%s", complaint);
    CHECK(values.quick && values.count == 7 && values.size == 65536 && values.percent == 95 && values.seconds == 2.5 &&
              strcmp(values.text, "a/b.jsonl") == 0 && values.list == 5,
          "values");
    CHECK(!parse("--text=--quick") && strcmp(values.text, "--quick") == 0, "a value after = may be anything");
    CHECK(!parse("") && !values.quick && values.count == 0 && !values.text, "defaults are left alone");
    CHECK(!parse("--count 2 --count 100") && values.count == 100, "the last one counts");
}

static void refusals_name_the_fault_and_what_is_valid(void)
{
    static const struct {
        const char *line, *fault, *valid;
    } cases[] = {{"--count 1", "'1'", "2 to 100"},
                 {"--count 101", "'101'", "2 to 100"},
                 {"--count many", "'many'", "2 to 100"},
                 {"--count 7x", "'7x'", "2 to 100"},
                 {"--count 1e1", "'1e1'", "2 to 100"},
                 {"--count 99999999999999999999", "'99999999999999999999'", "2 to 100"},
                 {"--size 0", "'0'", "1KiB to 1TiB"},
                 {"--size 10", "'10'", "1KiB to 1TiB"},
                 {"--size 2TiB", "'2TiB'", "1KiB to 1TiB"},
                 {"--size 1PiB", "'1PiB'", "1KiB to 1TiB"},
                 {"--size -1", "'-1'", "1KiB to 1TiB"},
                 {"--percent 0%", "'0%'", "1% to 95%"},
                 {"--percent 96%", "'96%'", "1% to 95%"},
                 {"--percent 80", "'80'", "1% to 95%"},
                 {"--percent 8.5%", "'8.5%'", "1% to 95%"},
                 {"--percent %", "'%'", "1% to 95%"},
                 {"--percent 80%%", "'80%%'", "1% to 95%"},
                 {"--seconds 0.5", "'0.5'", "1 to 3600"},
                 {"--seconds nan", "'nan'", "1 to 3600"},
                 {"--seconds inf", "'inf'", "1 to 3600"},
                 {"--seconds 1s", "'1s'", "1 to 3600"},
                 {"--text=", "--text", "FILE"},
                 {"--list pink", "'pink'", "red,green,blue"},
                 {"--list red,", "''", "red,green,blue"},
                 {"--list=", "''", "red,green,blue"},
                 {"--colour red", "'--colour'", "--quick --count --size --percent --seconds --text --list"},
                 {"--colour=red", "'--colour=red'", "--quick --count"},
                 {"--count 7 -xy", "'-xy'", "--quick --count"},
                 {"--quick=yes", "'--quick=yes'", "--quick --count"},
                 {"--count", "'--count'", "requires a value"},
                 {"--quick --text", "'--text'", "requires a value"},
                 {"--text --quick", "'--text'", "the option '--quick' follows"},
                 {"--text --", "'--text'", "the option '--' follows"},
                 {"word", "'word'", "--help"},
                 {"--count 7 word --quick", "'word'", "--help"},
                 {"word --nope", "'word' is not an option", "--help"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *complaint = parse(cases[i].line);
        CHECK(complaint && strstr(complaint, cases[i].fault) && strstr(complaint, cases[i].valid) &&
                  !strchr(complaint, '\n'),
              "'%s' gives: %s", cases[i].line, complaint ? complaint : "nothing");
    }
}

static void a_very_long_word_does_not_break_the_message(void)
{
    static char line[400] = "--list ";
    memset(line + 7, 'z', sizeof line - 8);
    const char *complaint = parse(line);
    CHECK(complaint && strlen(complaint) < 200, "%s", complaint);
}

static void log_has_every_option_in_effect(void)
{
    parse("--count 7 --size 64KiB --seconds 2.5 --list green,blue");
    json_t *options = options_json(rows),
           *expected = json_pack("{s:b, s:i, s:i, s:n, s:f, s:n, s:[s, s]}", "quick", 0, "count", 7, "size", 65536,
                                 "percent", "seconds", 2.5, "text", "list", "green", "blue");
    char *text = json_dumps(options, JSON_SORT_KEYS);
    CHECK(json_equal(options, expected), "%s", text);
    parse("");
    json_t *unset = options_json(rows);
    CHECK(json_is_null(json_object_get(unset, "size")), "a size of 0 is an unset one");
    parse("--text a\xff");
    json_t *other = options_json(rows);
    CHECK(strcmp(json_string_value(json_object_get(other, "text")), "a?") == 0, "as in all records of the log");
    json_decref(other);
    json_decref(unset);
    json_decref(expected);
    json_decref(options);
    free(text);
}

enum { MANY_ROWS = 100 };

static void any_number_of_options_is_parsed(void)
{
    static int64_t numbers[MANY_ROWS];
    static char names_of_rows[MANY_ROWS][8];
    static struct option_row many[MANY_ROWS + 1];
    for (int i = 0; i < MANY_ROWS; i++) {
        snprintf(names_of_rows[i], sizeof names_of_rows[i], "n%d", i);
        many[i] = (struct option_row)COUNT_OPTION(names_of_rows[i], &numbers[i], "N", 0, 1000, "a number");
    }
    char *argv[] = {"kernel", "--n16", "116", "--n57", "157", "--n64", "164", "--n65", "165", "--n99", "199", NULL};
    const char *complaint = options_parse(&(struct program){"kernel", "summary", "usage", many}, 11, argv);
    CHECK(!complaint, "%s", complaint);
    for (int i = 0; i < MANY_ROWS; i++) {
        const bool given = i == 16 || i == 57 || i == 64 || i == 65 || i == 99;
        CHECK(numbers[i] == (given ? 100 + i : 0), "--n%d is %lld", i, (long long)numbers[i]);
    }
}

static void a_list_has_64_names_and_no_more(void)
{
    static uint64_t chosen;
    static char texts[65][8];
    static const char *list[66];
    for (int i = 0; i < 65; i++) {
        snprintf(texts[i], sizeof texts[i], "x%d", i);
        list[i] = i < 64 ? texts[i] : NULL;
    }
    const struct option_row row[] = {LIST_OPTION("list", &chosen, list, "some"), {0}};
    const struct program lists = {"kernel", "summary", "usage", row};
    char *argv[] = {"kernel", "--list", "x0,x63", NULL};
    CHECK(!options_parse(&lists, 3, argv) && chosen == (UINT64_C(1) << 63 | 1), "%llx", (unsigned long long)chosen);
    list[64] = texts[64];
    const char *complaint = options_parse(&lists, 3, argv);
    CHECK(complaint && strstr(complaint, "--list") && strstr(complaint, "more than 64 names"), "%s",
          complaint ? complaint : "-");
}

static bool is_read(const char *path, int64_t most_bytes, const char *expected)
{
    const char *why;
    FILE *file = input_open(path, most_bytes, &why);
    CHECK(file ? !why : why && strstr(why, expected), "'%s': %s", path, why ? why : "read");
    if (file)
        fclose(file);
    return file;
}

static void only_regular_files_of_limited_size_are_read(void)
{
    char folder[] = "/tmp/coffeecup-XXXXXX", path[64];
    CHECK(mkdtemp(folder), "a folder");
    snprintf(path, sizeof path, "%s/input", folder);
    CHECK(!is_read("/dev/zero", INT64_MAX, "not a regular file"), "a device");
    CHECK(!is_read(folder, INT64_MAX, "not a regular file"), "a directory");
    CHECK(!is_read(path, INT64_MAX, "No such file"), "nothing");
    CHECK(mkfifo(path, 0600) == 0 && !is_read(path, INT64_MAX, "not a regular file"), "a pipe without a writer");
    unlink(path);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("12345", file) >= 0 && fclose(file) == 0, "a file");
    CHECK(is_read(path, 5, ""), "exactly its limit");
    CHECK(!is_read(path, 4, "larger than 4 bytes"), "one byte more than its limit");
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    only_regular_files_of_limited_size_are_read();
    any_number_of_options_is_parsed();
    a_list_has_64_names_and_no_more();
    sizes_are_numbers_with_a_binary_unit();
    every_kind_of_option_takes_its_value();
    refusals_name_the_fault_and_what_is_valid();
    a_very_long_word_does_not_break_the_message();
    log_has_every_option_in_effect();
    return checks_status();
}
