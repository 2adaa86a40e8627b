/* SPDX-License-Identifier: Apache-2.0 */
/* See hang.h. The keeper of another node than that of rank 0 writes its processes to a file beside the log, whose name
 * begins as that of the run's note, and ends them when the keeper of rank 0 has taken the file. */
#include "hang.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters.h"
#include "clock.h"
#include "filesystem.h"
#include "memory.h"
#include "note.h"
#include "peers.h"
#include "record.h"

enum { GATHER_MS = 6000, LEAVE_MS = 20000, END_MS = 5000, LAUNCHER_MS = 3000, PAUSE_MS = 100, PROC_PATH = 64 };
enum { SHORTEST_SECONDS = 30, FIRST_SECONDS = 300, FILES_SECONDS = 600, SLOWER = 100 };
#define TURN_SECONDS 0.01
#define LEAST_COUNTED 0.1

double hang_after_seconds;

/* How long and how often a process waited for a processor, since it began. */
struct queue {
    double waited_seconds, turns;
};

/* Global, because peers_watch() has no arguments for it. Time is counted in looks: a keeper that was suspended with its
 * run has not waited. */
static struct {
    uint64_t progress;
    long looks;
    int patience_seconds;
    struct queue *queues; /* of each process, at the first look without progress */
    json_t *processes;    /* of the hung run, from all nodes */
} seen;

static double limited(double usual_seconds)
{
    return ceil(fmin(hang_after_seconds > 0 ? hang_after_seconds : usual_seconds, 86400));
}

double hang_patience(double expected_seconds)
{
    return limited(expected_seconds > 0 ? fmax(SHORTEST_SECONDS, SLOWER * expected_seconds) : FIRST_SECONDS);
}

double hang_patience_of_files(void)
{
    return limited(FILES_SECONDS);
}

bool hang_found(void)
{
    return seen.processes != NULL;
}

/* --- the processes of this node ----------------------------------------------------------------------------------- */

/* The letter of proc(5); X if there is no such process. `folder` is its one below /proc, or that of its thread. */
static char state_in(const char *folder)
{
    char path[PROC_PATH + 8], line[512], state = 'X';
    snprintf(path, sizeof path, "%s/stat", folder);
    FILE *file = fopen(path, "re");
    const char *name_end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    return name_end && sscanf(name_end + 1, " %c", &state) == 1 ? state : 'X';
}

static char state_of(pid_t process)
{
    char folder[PROC_PATH];
    snprintf(folder, sizeof folder, "/proc/%d", (int)process);
    return state_in(folder);
}

/* The thread that waits in the kernel, if one does: libraries access files in threads of their own. Otherwise the
 * process. */
static void find_waiting(pid_t process, char folder[PROC_PATH])
{
    char tasks[PROC_PATH];
    snprintf(tasks, sizeof tasks, "/proc/%d/task", (int)process);
    snprintf(folder, PROC_PATH, "/proc/%d", (int)process);
    DIR *entries = opendir(tasks);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char thread[PROC_PATH];
        if (snprintf(thread, sizeof thread, "%s/%s", tasks, entry->d_name) < (int)sizeof thread &&
            state_in(thread) == 'D')
            snprintf(folder, PROC_PATH, "%s", thread);
    }
    closedir(entries);
}

static const char *state_name(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "in the kernel";
    case 'T':
        return "stopped";
    case 't':
        return "traced";
    default:
        return state == 'X' ? "gone" : "zombie";
    }
}

/* The function of the kernel in which the process waits, as far as this user may read it. */
static json_t *kernel_function(const char *folder)
{
    char path[PROC_PATH + 8], name[128] = "";
    snprintf(path, sizeof path, "%s/wchan", folder);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof name, file))
        name[0] = '\0';
    if (file)
        fclose(file);
    return name[0] && strcmp(name, "0") != 0 ? json_string(name) : json_null();
}

static json_t *describe_file(const struct peer *peer)
{
    struct mount mount;
    const int64_t offset = peer->offset;
    if (!peer->file[0])
        return json_null();
    find_mount("/proc/self/mounts", peer->file, &mount);
    return OBJECT(field_text("path", peer->file), field_text("type", mount.type),
                  field_json("source", mount_source_json(mount.source)), field_int("calls", peer->calls),
                  field_int_or_null("offset", offset != UNKNOWN_OFFSET, offset));
}

/* The ranks for one of whose messages the process waits. */
static json_t *sources_of(const struct peer *peer)
{
    json_t *ranks = json_array();
    const int next = peer->sources && peer->in_order ? (int)(peer->calls % peer->sources) : 0;
    for (int i = next; i < (peer->in_order ? next + 1 : peer->sources); i++)
        if (peer->sources && peer->source[i] >= 0)
            json_array_append_new(ranks, json_integer(peer->source[i]));
    return ranks;
}

static json_t *describe_process(const struct peer *peer)
{
    char folder[PROC_PATH];
    find_waiting(peer->process, folder);
    return OBJECT(field_int("rank", peer->rank), field_text("host", note_host()), field_int("process", peer->process),
                  field_text("state", state_name(state_in(folder))),
                  field_json("kernel_function", kernel_function(folder)), field_int("steps", peer->steps),
                  field_text("place", peer->place), field_json("file", describe_file(peer)),
                  field_int("messages", peer->sources ? peer->calls : 0), field_json("receives_from", sources_of(peer)),
                  field_json("adapters_lost", adapters_lost()));
}

static json_t *describe_processes(void)
{
    int count;
    const struct peer *peers = peers_all(&count);
    json_t *processes = json_array();
    for (int i = 0; i < count; i++)
        if (peers[i].process)
            json_array_append_new(processes, describe_process(&peers[i]));
    return processes;
}

static void end_processes(void)
{
    int count;
    peers_all(&count);
    for (int i = 0; i < count; i++)
        peers_kill(i);
}

/* --- between the nodes -------------------------------------------------------------------------------------------- */

/* Takes what keepers of other nodes have left, or with NULL only counts it. */
static int take_files(json_t *processes)
{
    char folder[PATH_MAX], path[PATH_MAX];
    int files = 0;
    snprintf(folder, sizeof folder, "%s", note_path());
    char *name = strrchr(folder, '/');
    if (!name)
        return 0;
    *name++ = '\0';
    DIR *entries = opendir(folder[0] ? folder : "/");
    if (!entries)
        return 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const size_t length = strlen(name);
        if (strncmp(entry->d_name, name, length) != 0 || entry->d_name[length] != '-' ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        json_t *others = processes ? json_load_file(path, 0, NULL) : NULL;
        if (processes && !json_is_array(others)) { /* not yet complete, or its own */
            json_decref(others);
            continue;
        }
        files++;
        if (processes) {
            json_array_extend(processes, others);
            unlink(path);
        }
        json_decref(others);
    }
    closedir(entries);
    return files;
}

/* An empty file beside the log, by which other keepers learn of the hang; each adds its processes. */
static FILE *create_file(char path[PATH_MAX], int rank)
{
    if (!note_path()[0] || snprintf(path, PATH_MAX, "%s-%d", note_path(), rank) >= PATH_MAX)
        return NULL;
    return fopen(path, "wxe");
}

/* Rank 0's keeper: waits for the others, whose clocks and looks differ. None of them ends its processes before all have
 * described theirs, because the launcher then ends all others. */
static void gather(void)
{
    char path[PATH_MAX];
    int files = 0;
    FILE *own = create_file(path, 0);
    const int others = peers_nodes() - 1, all = others + (own != NULL);
    for (int waited = 0; waited < GATHER_MS && files < others; waited += PAUSE_MS) {
        if (files > 0 || take_files(NULL) >= all || waited + PAUSE_MS >= GATHER_MS)
            files += take_files(seen.processes);
        pause_ms(PAUSE_MS);
    }
    if (!own)
        return;
    fclose(own);
    unlink(path);
}

/* Other keepers. Where nodes share no directory, the launcher's output shows the processes. */
static void leave(int rank)
{
    char path[PATH_MAX];
    char *text = json_dumps(seen.processes, JSON_COMPACT);
    FILE *file = create_file(path, rank);
    const bool written = file && text && fputs(text, file) >= 0;
    if (!file || fclose(file) != 0 || !written)
        fprintf(stderr, "error: the run hangs; processes of this node: %s\n", text ? text : "unknown");
    free(text);
    for (int waited = 0; file && waited < LEAVE_MS && access(path, F_OK) == 0; waited += PAUSE_MS)
        pause_ms(PAUSE_MS);
    if (file)
        unlink(path);
}

/* --- the watch ---------------------------------------------------------------------------------------------------- */

/* Whether a process of this node is the reason why nothing moves: one that does not run, or, if it had its `chance`,
 * that has not come out of its loop; processes of a node may wait for as long as other nodes measure. One that ends by
 * itself may hang in its library, and one that has ended so is no reason. */
static bool is_stuck(const struct peer *peers, int count, bool chance)
{
    for (int i = 0; i < count; i++) {
        const char state = peers[i].process ? state_of(peers[i].process) : 'X';
        const bool left = peers[i].left;
        if (peers[i].process &&
            ((!left && strchr("TtZX", state)) || (chance && (left ? !strchr("ZX", state) : peers[i].steps % 2))))
            return true;
    }
    return false;
}

double hang_counted_seconds(double seconds, double waited_seconds, double turns)
{
    if (waited_seconds <= turns * TURN_SECONDS)
        return seconds;
    return seconds * fmax(LEAST_COUNTED, turns * TURN_SECONDS / waited_seconds);
}

/* See proc(5), schedstat. Zeros if the system does not count it. */
static struct queue queue_of(pid_t process)
{
    char path[PROC_PATH];
    struct queue queue = {0, 0};
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)process);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%*s %lf %lf", &queue.waited_seconds, &queue.turns) != 2)
        queue = (struct queue){0, 0};
    if (file)
        fclose(file);
    queue.waited_seconds *= 1e-9;
    return queue;
}

/* Of the looks without progress, the seconds that count for the process of this node that waits longest for a turn. */
static double counted_seconds(const struct peer *peers, int count)
{
    const double seconds = 1e-3 * (double)seen.looks * PEERS_LOOK_MS;
    double counted = seconds;
    if (!seen.queues)
        seen.queues = allocate((size_t)count, sizeof *seen.queues);
    for (int i = 0; seen.looks > 0 && i < count; i++) {
        const struct queue now = queue_of(peers[i].process);
        if (seen.looks == 1)
            seen.queues[i] = now;
        counted = fmin(counted, hang_counted_seconds(seconds, now.waited_seconds - seen.queues[i].waited_seconds,
                                                     now.turns - seen.queues[i].turns));
    }
    return counted;
}

/* By this keeper, or by another one that left a file: a busy node counts its looks more slowly. */
static bool is_known(const struct peer *peers, int count)
{
    const double seconds = 1e-3 * (double)seen.looks * PEERS_LOOK_MS;
    const bool chance = counted_seconds(peers, count) >= seen.patience_seconds;
    return (seconds >= seen.patience_seconds && is_stuck(peers, count, chance)) ||
           (2 * seconds >= seen.patience_seconds && take_files(NULL) > 0);
}

bool hang_look(void)
{
    int count;
    uint64_t progress = 1; /* of no interest but for whether it changes */
    bool begun = false;
    const struct peer *peers = peers_all(&count);
    seen.patience_seconds = 0;
    for (int i = 0; i < count; i++) {
        begun |= peers[i].steps > 0;
        progress = 31 * (31 * progress + (uint64_t)peers[i].steps) + (uint64_t)peers[i].calls;
        if (peers[i].patience_seconds > seen.patience_seconds)
            seen.patience_seconds = peers[i].patience_seconds;
    }
    seen.looks = progress == seen.progress ? seen.looks + 1 : 0;
    seen.progress = progress;
    if (!begun || !is_known(peers, count))
        return false;
    seen.processes = describe_processes();
    if (peers[0].rank == 0)
        gather();
    else
        leave(peers[0].rank);
    end_processes();
    return true;
}

void hang_end_launcher(void)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    bool ended = peers_await_ends(END_MS);
    for (int i = 0; i < 2 && !(ended && (peers_nodes() == 1 || peers_await_launcher(LAUNCHER_MS))); i++) {
        peers_signal_launcher(signals[i]);
        ended = ended || peers_await_ends(END_MS);
    }
}

char *hang_end(long sequence, double elapsed_seconds)
{
    char reason[128];
    snprintf(reason, sizeof reason, "no progress for %d s", seen.patience_seconds);
    json_t *end = json_pack("{s:s,s:I,s:s,s:I,s:f,s:s,s:O}", "record", "end", "sequence", (json_int_t)sequence,
                            "status", "hung", "records", (json_int_t)sequence + 1, "elapsed_seconds", elapsed_seconds,
                            "reason", reason, "processes", seen.processes);
    char *text = end ? json_dumps(end, JSON_COMPACT) : NULL;
    json_decref(end);
    const size_t bytes = text ? strlen(text) : 0;
    char *line = text ? realloc(text, bytes + 2) : NULL;
    if (line)
        memcpy(line + bytes, "\n", 2);
    return line;
}
