/* SPDX-License-Identifier: Apache-2.0 */
/* The log on disk after a normal end, after a signal at critical moments, and on a full disk. A child process writes
 * it; write() is replaced here, so that the moments are exact. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "end_record.h"
#include "fail.h"
#include "interrupt.h"
#include "log.h"

enum { MOST_BYTES = 4096, MOST_LINES = 16 };

static const char *path;
static const char *signal_at;  /* raise a signal while a line with these words is being written */
static bool signal_at_process; /* instead of at the writing thread */
static long room_bytes = -1;   /* of the disk; -1: unlimited */
static char filler[400];

ssize_t write(int file, const void *data, size_t bytes)
{
    if (file > STDERR_FILENO && signal_at && memmem(data, bytes, signal_at, strlen(signal_at))) {
        signal_at = NULL;
        if (signal_at_process) {
            kill(getpid(), SIGTERM);
            usleep(100 * 1000); /* time for the other thread to write, which it must not do */
        } else {
            raise(SIGTERM);
        }
    }
    if (file > STDERR_FILENO && room_bytes >= 0) {
        if (room_bytes == 0) {
            errno = ENOSPC;
            return -1;
        }
        bytes = bytes < (size_t)room_bytes ? bytes : (size_t)room_bytes;
        room_bytes -= (long)bytes;
    }
    return syscall(SYS_write, file, data, bytes);
}

/* Gives back the room of what is removed. */
int ftruncate(int file, off_t bytes)
{
    if (room_bytes >= 0)
        room_bytes += lseek(file, 0, SEEK_END) - bytes;
    return (int)syscall(SYS_ftruncate, file, bytes);
}

static json_t *numbered(int number)
{
    return json_pack("{s:i}", "number", number);
}

static struct log *written_log;

static void close_as_failed(const struct failure *failure)
{
    log_close(written_log, "failed", json_pack("{s:s}", "reason", failure->message));
}

/* Two records, the second one longer than an end, and the end. */
static void write_log(void)
{
    char reason[512] = "";
    struct log *log = written_log = log_open(path, reason, sizeof reason);
    if (!log)
        _exit(99);
    fail_do(close_as_failed);
    log_write(log, "first", numbered(1));
    log_write(log, "second", json_pack("{s:s}", "text", filler));
    _exit(log_close(log, "complete", NULL) ? 0 : 1);
}

/* The exit status of the child, as in a shell; its messages are discarded. */
static int status_of(void (*work)(void))
{
    int status;
    unlink(path);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(98);
        work();
        _exit(97);
    }
    waitpid(child, &status, 0);
    signal_at = NULL;
    room_bytes = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The records of the log; an invalid line counts as a failed condition. */
static int read_records(json_t *records[MOST_LINES])
{
    static char text[MOST_BYTES];
    int file = open(path, O_RDONLY), count = 0;
    ssize_t bytes = file < 0 ? 0 : read(file, text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(file);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        records[count] = json_loads(line, 0, NULL);
        CHECK(records[count] && json_integer_value(json_object_get(records[count], "sequence")) == count, "line %d: %s",
              count, line);
        count++;
    }
    CHECK(bytes <= 0 || text[bytes - 1] == '\0', "the last line is cut off");
    return count;
}

static void log_has(int lines, const char *status)
{
    json_t *records[MOST_LINES];
    int count = read_records(records);
    CHECK(count == lines, "%d lines", count);
    if (count == 0)
        return;
    const json_t *end = records[count - 1];
    const char *found = json_string_value(json_object_get(end, "status"));
    CHECK(found && strcmp(found, status) == 0, "%s", found ? found : "no end record");
    CHECK(json_integer_value(json_object_get(end, "records")) == lines, "records");
    CHECK(json_real_value(json_object_get(end, "elapsed_seconds")) >= 0, "elapsed_seconds");
    for (int i = 0; i < count; i++)
        json_decref(records[i]);
}

static void a_good_run_ends_complete(void)
{
    CHECK(status_of(write_log) == 0, "status");
    log_has(3, "complete");
}

static void interrupt_between_records(void)
{
    char reason[512];
    struct log *log = log_open(path, reason, sizeof reason);
    log_write(log, "first", numbered(1));
    raise(SIGINT);
}

static void a_signal_between_records_ends_the_log_as_interrupted(void)
{
    CHECK(status_of(interrupt_between_records) == 128 + SIGINT, "status");
    log_has(2, "interrupted");
}

static void a_signal_while_a_record_is_written_waits_for_it(void)
{
    signal_at = "\"second\"";
    CHECK(status_of(write_log) == 128 + SIGTERM, "status");
    log_has(3, "interrupted");
}

static void *sleep_on(void *nothing)
{
    sleep(60);
    return nothing;
}

/* With a second thread, as MPI libraries have: while a record is written, only this thread receives signals. */
static void write_log_beside_a_thread(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, sleep_on, NULL) != 0)
        _exit(96);
    signal_at_process = true;
    write_log();
}

static void a_signal_taken_by_another_thread_waits_for_the_record_too(void)
{
    signal_at = "\"second\"";
    CHECK(status_of(write_log_beside_a_thread) == 128 + SIGTERM, "status");
    log_has(3, "interrupted");
}

static void follow_and_be_interrupted(void)
{
    interrupt_watch(-1, 0);
    raise(SIGTERM);
}

static void a_rank_without_a_log_outlives_rank_0_by_a_moment(void)
{
    const double start = now_seconds();
    CHECK(status_of(follow_and_be_interrupted) == 128 + SIGTERM, "status");
    CHECK(now_seconds() - start >= 0.3, "gone after %g s", now_seconds() - start);
}

static void a_signal_while_the_end_is_written_adds_no_second_end(void)
{
    signal_at = "\"end\"";
    CHECK(status_of(write_log) == 128 + SIGTERM, "status");
    log_has(3, "complete");
}

static void a_full_disk_fails_and_leaves_whole_lines(void)
{
    for (long room = 0; room < 480; room += 3) {
        json_t *records[MOST_LINES];
        room_bytes = room;
        CHECK(status_of(write_log) == 1, "room for %ld byte", room);
        int count = read_records(records);
        CHECK(count < 3, "room for %ld byte: %d lines", room, count);
        for (int i = 0; i < count; i++) {
            CHECK(!json_object_get(records[i], "status") ||
                      strcmp(json_string_value(json_object_get(records[i], "status")), "complete") != 0,
                  "complete");
            json_decref(records[i]);
        }
    }
}

static void write_removed_log(void)
{
    char reason[512] = "";
    struct log *log = log_open(path, reason, sizeof reason);
    unlink(path);
    _exit(log_close(log, "complete", NULL) ? 0 : 1);
}

static void a_log_that_is_removed_is_no_success(void)
{
    CHECK(status_of(write_removed_log) == 1, "status");
}

static void an_existing_file_is_never_overwritten(void)
{
    char reason[512] = "", text[8] = "";
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(syscall(SYS_write, file, "mine", 4) == 4, "preparation");
    close(file);
    CHECK(!log_open(path, reason, sizeof reason) && strstr(reason, path) && strstr(reason, "--log"), "%s", reason);
    file = open(path, O_RDONLY);
    CHECK(read(file, text, 7) == 4 && strcmp(text, "mine") == 0, "the file holds '%s'", text);
    close(file);
}

static void an_end_record_of_a_handler_has_microseconds(void)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, ":0.000000,"}, {0.0000014, ":0.000001,"}, {3.05, ":3.050000,"}, {86399.9999996, ":86400.000000,"}};
    char line[END_RECORD_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct end end = {.status = "failed", .reason = "none", .elapsed_seconds = cases[i].seconds};
        line[end_record(line, &end)] = '\0';
        CHECK(strstr(line, cases[i].text), "%g s: %s", cases[i].seconds, line);
    }
}

static void other_ranks_have_no_log_and_do_nothing(void)
{
    json_t *kept = json_array();
    log_write(NULL, "first", OBJECT(field_json("kept", json_incref(kept))));
    CHECK(kept->refcount == 1, "the fields are released");
    json_decref(kept);
    CHECK(log_close(NULL, "complete", NULL), "closing");
}

int main(void)
{
    char template[] = "/tmp/test_log_XXXXXX", file[64];
    if (!mkdtemp(template))
        return 1;
    snprintf(file, sizeof file, "%s/log.jsonl", template);
    path = file;
    memset(filler, 'x', sizeof filler - 1);
    a_good_run_ends_complete();
    a_signal_between_records_ends_the_log_as_interrupted();
    a_signal_while_a_record_is_written_waits_for_it();
    a_signal_taken_by_another_thread_waits_for_the_record_too();
    a_signal_while_the_end_is_written_adds_no_second_end();
    a_rank_without_a_log_outlives_rank_0_by_a_moment();
    a_full_disk_fails_and_leaves_whole_lines();
    a_log_that_is_removed_is_no_success();
    an_existing_file_is_never_overwritten();
    an_end_record_of_a_handler_has_microseconds();
    other_ranks_have_no_log_and_do_nothing();
    unlink(path);
    rmdir(template);
    return checks_status();
}
