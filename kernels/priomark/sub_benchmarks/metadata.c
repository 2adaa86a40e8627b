/* SPDX-License-Identifier: Apache-2.0 */
/* metadata: small files are created, examined, read, renamed, listed and removed, each by all processes before the next
 * operation begins. The paper has no such sub-benchmark: it has a record of its own and does not enter the total. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "data.h"
#include "fail.h"
#include "host.h"
#include "memory.h"
#include "peers.h"
#include "storage.h"
#include "sub_benchmarks.h"

enum { DIGITS = 8, MOST_FILES = 99999999, LEAST_SPACE = 4096 /* of a file */ };
/* In a tree, the first digits of a file's number name its directories: file 01234567 is in 01/23/45. */
enum { FAN = 100, LEVELS = 3, DIGITS_OF_LEVEL = 2, LEVEL_LENGTH = 3 /* with the slash */ };

enum { OWN_DIRECTORY, SHARED_DIRECTORY, OWN_TREE };
static const char *const names_of_patterns[] = {"own-directory", "shared-directory", "own-tree", NULL};

static const struct priomark_key keys[] = {
    {"files", PRIOMARK_COUNTS, "1000", "number of files of each process", 1, MOST_FILES, NULL},
    {"file_size", PRIOMARK_SIZES, "\"4KiB\"", "data of a file", 1, 1 << 24, NULL},
    {"patterns", PRIOMARK_NAMES, "[\"own-directory\", \"shared-directory\"]",
     "a directory or a tree of directories for the files of each process, or one directory for all", 0, 0,
     names_of_patterns},
    {"sync", PRIOMARK_FLAG, "false", "synchronise each file before its creator closes it", 0, 0, NULL},
    {0}};

/* The files that this process creates, or those that it accesses afterwards. The path of `file` and its `new_path` end
 * with the number of the current file. */
struct files {
    struct priomark_file file;
    char directory[PRIOMARK_PATH_BYTES], new_path[PRIOMARK_PATH_BYTES];
    size_t path_length, name_length; /* the name: of a file in its directory */
    int64_t entries;                 /* of the directory or the tree */
    bool sync, is_tree;
    char *content, *data; /* of the current file: as created, and as read */
};

/* --- the operations: each is timed as a whole --------------------------------------------------------------------- */

static void open_file(struct priomark_file *file, int flags, const char *what)
{
    file->descriptor = open(file->path, flags | O_CLOEXEC, 0600);
    if (file->descriptor < 0)
        posix_stop(file, what, errno);
}

static void close_file(struct priomark_file *file)
{
    if (close(file->descriptor) != 0)
        posix_stop(file, "close", errno);
}

static void create(struct files *files)
{
    open_file(&files->file, O_WRONLY | O_CREAT | O_EXCL, "create");
    posix_write(&files->file, files->content, files->file.block_bytes, 0);
    if (files->sync)
        posix_sync(&files->file);
    close_file(&files->file);
}

static void examine(struct files *files)
{
    struct stat status;
    if (stat(files->file.path, &status) != 0)
        posix_stop(&files->file, "examine", errno);
    if (status.st_size != files->file.block_bytes)
        priomark_fail(files->file.run,
                      "'%s' has %" PRId64 " bytes instead of %" PRId64 "; did another program change it?",
                      files->file.path, (int64_t)status.st_size, files->file.block_bytes);
}

static void read_file(struct files *files)
{
    open_file(&files->file, O_RDONLY, "open");
    posix_read(&files->file, files->data, files->file.block_bytes, 0);
    close_file(&files->file);
}

static void rename_file(struct files *files)
{
    if (rename(files->file.path, files->new_path) != 0)
        posix_stop(&files->file, "rename", errno);
}

/* The directory of the current file. */
static void list_directory(struct files *files)
{
    int64_t entries = 0, expected = files->entries;
    char *const end = files->file.path + files->path_length - files->name_length - 1;
    if (files->is_tree) {
        const int64_t left = files->entries - strtoll(end + files->name_length + 1 - DIGITS, NULL, 10);
        expected = left < FAN ? left : FAN;
    }
    *end = '\0';
    DIR *directory = opendir(files->file.path);
    *end = '/';
    if (!directory)
        posix_stop(&files->file, "list the directory of", errno);
    errno = 0;
    while (readdir(directory))
        entries++;
    if (errno != 0 || closedir(directory) != 0)
        posix_stop(&files->file, "list the directory of", errno);
    if (entries != expected + 2) /* "." and ".." */
        priomark_fail(files->file.run,
                      "the directory of '%s' has %" PRId64 " entries instead of %" PRId64
                      "; did another program change it?",
                      files->file.path, entries - 2, expected);
}

static void remove_file(struct files *files)
{
    if (unlink(files->new_path) != 0)
        posix_stop(&files->file, "remove", errno);
}

/* In the order of measuring. One that lists does so once for each directory. */
enum { CREATE, STAT, READ, RENAME, READDIR, REMOVE, OPERATIONS };
static const struct {
    const char *name;
    bool lists;
    void (*call)(struct files *files);
} operations[OPERATIONS] = {[CREATE] = {"create", false, create},          [STAT] = {"stat", false, examine},
                            [READ] = {"read", false, read_file},           [RENAME] = {"rename", false, rename_file},
                            [READDIR] = {"readdir", true, list_directory}, [REMOVE] = {"remove", false, remove_file}};

/* What the processes noted in the current case. */
static struct {
    struct latency latency;
    double elapsed_seconds;
    int64_t count;
} noted[OPERATIONS];

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static bool is_alone(const struct workload *workload)
{
    for (int i = 0; i < workload->groups; i++)
        if (workload->group[i].benchmark != &metadata_benchmark)
            return false;
    return true;
}

static void plan(struct priomark *run)
{
    if (is_alone(run->workload))
        priomark_refuse(run, NULL,
                        "it moves no data that would give a total; add another sub-benchmark, such as single_file");
    for (int f = 0; f < priomark_count(run, "files"); f++)
        for (int s = 0; s < priomark_count(run, "file_size"); s++)
            for (int p = 0; p < priomark_count(run, "patterns"); p++) {
                const int64_t files = priomark_number(run, "files", f), bytes = priomark_number(run, "file_size", s);
                priomark_add(
                    run, &(struct priomark_case){.pattern = priomark_text(run, "patterns", p),
                                                 .method = posix_interface.name,
                                                 .process_bytes = files * bytes,
                                                 .block_bytes = bytes,
                                                 .read_share = -1,
                                                 .target = PRIOMARK_IN_DIRECTORY,
                                                 .space_bytes = files * (bytes > LEAST_SPACE ? bytes : LEAST_SPACE)});
            }
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

/* The files of a process; `communicator` determines whose they are. */
static void choose_owner(struct files *files, bool is_own, MPI_Comm communicator)
{
    char name[64] = "metadata";
    const char *levels = files->is_tree ? "00/00/00/" : "";
    struct priomark_file *file = &files->file;
    MPI_CHECK(MPI_Comm_rank(communicator, &file->owner));
    if (is_own)
        snprintf(name, sizeof name, "metadata-%06d", file->owner);
    priomark_path(file->run, files->directory, sizeof files->directory, name);
    const int length =
        snprintf(file->path, sizeof file->path, "%s/%sf%06d-%0*d", files->directory, levels, file->owner, DIGITS, 0);
    if (length >= (int)sizeof file->path || snprintf(files->new_path, sizeof files->new_path, "%s/%sr%06d-%0*d",
                                                     files->directory, levels, file->owner, DIGITS, 0) != length)
        priomark_fail(file->run, "the path of '%s' is too long; choose a shorter --directory", files->directory);
    files->path_length = (size_t)length;
    files->name_length = strlen(strrchr(file->path, '/') + 1);
    data_fill(files->content, (size_t)file->block_bytes, (uint32_t)priomark_seed(file->run, (uint64_t)file->owner), 0);
}

/* Cheap, because it is timed: the number at the end of both paths and at the beginning of the content. Numbers that
 * follow each other ascend. */
static void choose_file(struct files *files, int64_t number)
{
    const size_t bytes = (size_t)files->file.block_bytes;
    char *const path = files->file.path, *const digits = path + files->path_length - DIGITS;
    memcpy(files->content, &number, bytes < sizeof number ? bytes : sizeof number);
    for (size_t at = files->path_length - 1; number > 0; at--, number /= 10)
        path[at] = files->new_path[at] = (char)('0' + number % 10);
    if (files->is_tree)
        for (size_t level = 0, at = strlen(files->directory) + 1; level < LEVELS; level++, at += LEVEL_LENGTH) {
            memcpy(path + at, digits + level * DIGITS_OF_LEVEL, DIGITS_OF_LEVEL);
            memcpy(files->new_path + at, digits + level * DIGITS_OF_LEVEL, DIGITS_OF_LEVEL);
        }
}

static void clear_number(struct files *files)
{
    memset(files->file.path + files->path_length - DIGITS, '0', DIGITS);
    memset(files->new_path + files->path_length - DIGITS, '0', DIGITS);
}

static int64_t directories(const struct files *files)
{
    return files->is_tree ? (files->file.blocks + FAN - 1) / FAN : 1;
}

static void change_directory(struct files *files, char *end, bool is_made)
{
    *end = '\0';
    if (is_made ? mkdir(files->file.path, 0700) != 0 : rmdir(files->file.path) != 0)
        posix_stop(&files->file, is_made ? "create a directory of" : "remove a directory of", errno);
    *end = '/';
}

/* Makes the directories of a tree, each before what it contains, or removes them in the opposite order. */
static void change_tree(struct files *files, bool is_made)
{
    char *const first = files->file.path + strlen(files->directory);
    for (int64_t i = 0; i < directories(files); i++) {
        const int64_t leaf = is_made ? i : directories(files) - 1 - i;
        clear_number(files);
        choose_file(files, leaf * FAN);
        for (int j = 0; j < LEVELS; j++) {
            const int level = is_made ? j : LEVELS - 1 - j;
            const int leaves = level == 0 ? FAN * FAN : level == 1 ? FAN : 1; /* of a full directory */
            if (leaf % leaves == 0)
                change_directory(files, first + (level + 1) * LEVEL_LENGTH, is_made);
        }
    }
}

/* Each process makes and removes its own directory, the first one that of all. */
static void make_directory(struct files *files, bool is_own)
{
    if ((is_own || priomark_rank(files->file.run) == 0) && mkdir(files->directory, 0700) != 0)
        posix_stop(&files->file, "create the directory of", errno);
    if (files->is_tree)
        change_tree(files, true);
    priomark_barrier(files->file.run);
}

static void remove_directory(struct files *files, bool is_own)
{
    priomark_barrier(files->file.run);
    if (files->is_tree)
        change_tree(files, false);
    if ((is_own || priomark_rank(files->file.run) == 0) && rmdir(files->directory) != 0)
        posix_stop(&files->file, "remove the directory of", errno);
}

static void verify(struct files *files)
{
    struct priomark *run = files->file.run;
    if (memcmp(files->data, files->content, (size_t)files->file.block_bytes) != 0)
        priomark_fail(run, "'%s' was read wrong; have the file system examined", files->file.path);
    run->checked_bytes += files->file.block_bytes;
}

/* --- the measurement ---------------------------------------------------------------------------------------------- */

static void measure_operation(struct files *files, int operation)
{
    struct priomark *run = files->file.run;
    const bool lists = operations[operation].lists, verifies = operation == READ && run->workload->check;
    const int64_t calls = lists ? directories(files) : files->file.blocks;
    latency_clear(&noted[operation].latency);
    clear_number(files);
    priomark_barrier(run);
    const double start = now_seconds(), paused = run->notes.paused;
    double before = start;
    for (int64_t i = 0; i < calls; i++) {
        choose_file(files, lists ? i * FAN : i);
        operations[operation].call(files);
        const double after = now_seconds();
        latency_add(&noted[operation].latency, after - before);
        peers_progress(i, UNKNOWN_OFFSET);
        before = after;
        if (verifies) {
            host_pause(run);
            verify(files);
            host_resume(run);
            before = now_seconds();
        }
    }
    noted[operation].elapsed_seconds = before - start - (run->notes.paused - paused);
    noted[operation].count = lists ? files->entries : calls;
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    const size_t bytes = (size_t)now->block_bytes;
    const bool is_own = strcmp(now->pattern, names_of_patterns[SHARED_DIRECTORY]) != 0;
    struct files *files = allocate(1, sizeof *files);
    *files = (struct files){.file = {.run = run,
                                     .interface = &posix_interface,
                                     .block_bytes = now->block_bytes,
                                     .blocks = now->process_bytes / now->block_bytes},
                            .sync = priomark_number(run, "sync", 0) != 0,
                            .is_tree = strcmp(now->pattern, names_of_patterns[OWN_TREE]) == 0,
                            .content = buffer_allocate(bytes),
                            .data = buffer_allocate(bytes)};
    files->entries = files->file.blocks * (is_own ? 1 : priomark_ranks(run));
    choose_owner(files, is_own, MPI_COMM_WORLD);
    make_directory(files, is_own);
    priomark_begin(run);
    measure_operation(files, CREATE);
    choose_owner(files, is_own, run->readers);
    for (int operation = CREATE + 1; operation < OPERATIONS; operation++)
        measure_operation(files, operation);
    priomark_end(run);
    choose_owner(files, is_own, MPI_COMM_WORLD);
    remove_directory(files, is_own);
    run->notes.bytes[PRIOMARK_READ] = now->process_bytes;
    buffer_free(files->content, bytes);
    buffer_free(files->data, bytes);
    free(files);
}

static json_t *operation_json(int operation, struct result *result)
{
    const struct spread elapsed = agree_on_times(MPI_COMM_WORLD, noted[operation].elapsed_seconds);
    int64_t count = noted[operation].count;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    latency_gather(&noted[operation].latency, MPI_COMM_WORLD);
    result->operations += (double)count;
    result->seconds += elapsed.slowest;
    json_t *entry =
        OBJECT(field_text("operation", operations[operation].name), field_int("count", count),
               field_real("elapsed_seconds", elapsed.slowest), field_real("fastest_seconds", elapsed.fastest));
    json_object_update_new(entry, latency_json(&noted[operation].latency));
    return entry;
}

static void record(struct priomark *run, struct result *result)
{
    json_t *list = json_array();
    *result = (struct result){0};
    for (int operation = 0; operation < OPERATIONS; operation++)
        json_array_append_new(list, operation_json(operation, result));
    json_t *fields =
        OBJECT(field_int("case", run->number), field_int("repetition", run->repetition),
               field_bool("synchronised", priomark_number(run, "sync", 0) != 0), field_json("operations", list));
    log_write(run->run->log, "metadata", fields);
}

const struct sub_benchmark metadata_benchmark = {.name = "metadata",
                                                 .summary =
                                                     "creates, examines, reads, renames, lists and removes files",
                                                 .keys = keys,
                                                 .plan = plan,
                                                 .measure = measure,
                                                 .record = record};
