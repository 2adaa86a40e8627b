/* SPDX-License-Identifier: Apache-2.0 */
/* See hang.h. The keeper of another node than that of rank 0 votes, as long as nothing moves there, by a file beside
 * the log that has its processes: the name of the run's note, the node's first rank and the proof. If all have voted,
 * the keeper of rank 0 takes the files, upon which each ends its processes. */
#include "hang.h"

#include <dirent.h>
#include <errno.h>
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
#include "fail.h"
#include "filesystem.h"
#include "first_line.h"
#include "memory.h"
#include "note.h"
#include "peers.h"
#include "process_state.h"
#include "record.h"

enum { GATHER_SECONDS = 6, LATEST = 20, END_MS = 5000, LAUNCHER_MS = 3000 };
enum { SHORTEST_SECONDS = 30, FIRST_SECONDS = 300, FILES_SECONDS = 600, SLOWER = 100 };
enum { FEW_TURNS = 2 }; /* of a process between two looks that waits for one answer; some clients ask each second */
#define TURN_SECONDS 0.01
#define LEAST_COUNTED 0.1
#define LOOK_SECONDS (1e-3 * PEERS_LOOK_MS)

double hang_after_seconds;

/* What a keeper knows: something moves on its node; its processes only wait; one has not come out of its loop or of a
 * call of the kernel, although it had the time; one does not run. */
enum proof { MOVES, WAITS, STUCK, STOPPED };

/* A process at a look: how long and how often it waited for a processor since it began, and for how long it has been in
 * the same call of the kernel. */
struct sight {
    double waited_seconds, turns, asleep_seconds;
};

/* Global, because peers_watch() has no arguments for it. Time is counted in looks: a keeper that was suspended with its
 * run has not waited. */
static struct {
    uint64_t progress;
    double seconds, counted_seconds; /* without progress */
    int64_t offsets;                 /* the sum of those of all processes in their files */
    double still_seconds;            /* for which it has not changed */
    int patience_seconds;
    struct sight *sights; /* of each process, at the last look without progress */
    enum proof proof;     /* of the vote; the file that has it, "": none */
    char vote[PATH_MAX];
    json_t *processes; /* of the node that votes, or of a run that hangs */
    bool found;
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
    return seen.found;
}

/* --- the processes of this node ----------------------------------------------------------------------------------- */

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
    const struct process_state state = process_state(peer->process);
    return OBJECT(field_int("rank", peer->rank), field_text("host", note_host()), field_int("process", peer->process),
                  field_text("state", state.name),
                  field_json("kernel_function", state.function[0] ? json_string(state.function) : json_null()),
                  field_int("steps", peer->steps), field_text("place", peer->place),
                  field_json("file", describe_file(peer)), field_int("messages", peer->sources ? peer->calls : 0),
                  field_json("receives_from", sources_of(peer)), field_json("adapters_lost", adapters_lost()));
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

/* --- between the nodes -------------------------------------------------------------------------------------------- */

/* How many keepers of other nodes have voted, and the strongest proof. Takes the votes, unless `processes` is NULL. */
static int read_votes(int *strongest, json_t *processes)
{
    char folder[PATH_MAX], path[PATH_MAX];
    int votes = 0, rank, proof;
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
        if (strncmp(entry->d_name, name, length) != 0 || sscanf(entry->d_name + length, "-%d-%d", &rank, &proof) != 2 ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        json_t *others = json_load_file(path, 0, NULL);
        if (json_is_array(others)) { /* otherwise it is not yet complete */
            votes++;
            *strongest = proof > *strongest ? proof : *strongest;
            if (processes && json_array_extend(processes, others) == 0)
                unlink(path);
        }
        json_decref(others);
    }
    closedir(entries);
    return votes;
}

void hang_withdraw(void)
{
    if (seen.vote[0])
        unlink(seen.vote);
    seen.vote[0] = '\0';
}

static void leave_vote(int rank, enum proof proof)
{
    FILE *file = NULL;
    if (snprintf(seen.vote, PATH_MAX, "%s-%d-%d", note_path(), rank, (int)proof) < PATH_MAX)
        file = fopen(seen.vote, "wxe");
    if (!file)
        seen.vote[0] = '\0';
    const bool written = file && json_dumpf(seen.processes, file, JSON_COMPACT) == 0;
    if (file && (fclose(file) != 0 || !written))
        hang_withdraw();
}

/* Where nodes share no directory, the launcher's output shows the processes. */
static void print_processes(void)
{
    char *text = json_dumps(seen.processes, JSON_COMPACT);
    print_if_read("the run hangs; processes of this node: %s", text ? text : "unknown");
    free(text);
}

/* Other keepers: votes anew if the proof has changed. Whether the keeper of rank 0 has taken the vote, does not know of
 * this node, which then decides alone, or has not taken it although it had the time, because it is gone. */
static bool is_taken(int rank, enum proof proof)
{
    const bool is_alone =
        proof >= STUCK && fmin(seen.seconds, seen.still_seconds) >= 2 * LATEST * seen.patience_seconds;
    if (is_alone)
        hang_withdraw();
    if (proof == seen.proof)
        return is_alone || (seen.vote[0] && access(seen.vote, F_OK) != 0 && errno == ENOENT);
    hang_withdraw();
    json_decref(seen.processes);
    seen.proof = proof;
    seen.processes = proof == MOVES ? NULL : describe_processes();
    if (proof != MOVES && note_path()[0])
        leave_vote(rank, proof);
    else if (proof >= STUCK)
        print_processes();
    return proof >= STUCK && !note_path()[0];
}

/* Rank 0's keeper: nothing moves on any node, although it should. A node that does not vote is awaited for as long as
 * it may be slow, but only for its processes if a process is known to be stopped. */
static bool is_hung(enum proof proof)
{
    int strongest = (int)proof;
    if (seen.seconds < seen.patience_seconds)
        return false;
    const int missing = peers_nodes() - 1 - read_votes(&strongest, NULL);
    const bool all = proof != MOVES && missing <= 0;
    const double latest =
        strongest == STOPPED ? seen.patience_seconds + GATHER_SECONDS : LATEST * seen.patience_seconds;
    if (strongest < STUCK || !(all || seen.seconds >= latest))
        return false;
    seen.processes = describe_processes();
    read_votes(&strongest, seen.processes);
    if (!note_path()[0]) /* there is no log yet */
        print_processes();
    return true;
}

/* --- the watch ---------------------------------------------------------------------------------------------------- */

double hang_counted_seconds(double seconds, double waited_seconds, double turns)
{
    if (waited_seconds <= turns * TURN_SECONDS)
        return seconds;
    return seconds * fmax(LEAST_COUNTED, turns * TURN_SECONDS / waited_seconds);
}

double hang_asleep_seconds(double before_seconds, char letter, double turns)
{
    return is_in_kernel(letter) && turns <= FEW_TURNS ? before_seconds + LOOK_SECONDS : 0;
}

/* See proc(5), schedstat. Zeros if the system does not count it. */
static struct sight look_at(pid_t process, const struct sight *before)
{
    char line[128];
    struct sight now = {0, 0, 0};
    read_first_line(line, sizeof line, "/proc/%d/schedstat", (int)process);
    if (sscanf(line, "%*s %lf %lf", &now.waited_seconds, &now.turns) == 2)
        now.waited_seconds *= 1e-9;
    now.asleep_seconds =
        hang_asleep_seconds(before->asleep_seconds, process_letter(process), now.turns - before->turns);
    return now;
}

/* Adds the last look without progress, as far as it counts for the process of this node that waits longest for a turn.
 * Look by look, as others may begin to use the processors meanwhile. */
static void count_look(const struct peer *peers, int count)
{
    double counted = LOOK_SECONDS;
    if (!seen.sights)
        seen.sights = allocate((size_t)count, sizeof *seen.sights);
    for (int i = 0; i < count; i++) {
        const struct sight before = seen.sights[i], now = look_at(peers[i].process, &before);
        if (seen.seconds > 0)
            counted = fmin(counted, hang_counted_seconds(LOOK_SECONDS, now.waited_seconds - before.waited_seconds,
                                                         now.turns - before.turns));
        seen.sights[i] = now;
    }
    seen.seconds += LOOK_SECONDS;
    seen.counted_seconds += counted;
}

/* The offset in a file counts only where the keeper decides alone: generators of load go on while what is measured
 * hangs. */
static void look_for_progress(const struct peer *peers, int count)
{
    uint64_t progress = 1; /* of no interest but for whether it changes */
    int64_t offsets = 0;
    seen.patience_seconds = 0;
    for (int i = 0; i < count; i++) {
        progress = 31 * (31 * progress + (uint64_t)peers[i].steps) + (uint64_t)peers[i].calls;
        if (!note_path()[0])
            progress = 31 * progress + (uint64_t)peers[i].offset;
        offsets += peers[i].offset;
        if (peers[i].patience_seconds > seen.patience_seconds)
            seen.patience_seconds = peers[i].patience_seconds;
    }
    if (progress == seen.progress)
        count_look(peers, count);
    else
        seen.seconds = seen.counted_seconds = 0;
    seen.progress = progress;
    seen.still_seconds = offsets == seen.offsets ? seen.still_seconds + LOOK_SECONDS : 0;
    seen.offsets = offsets;
}

/* A process that ends by itself may hang in its library, and one that has ended so is no reason. */
static enum proof proof_of(const struct peer *peers, int count)
{
    enum proof proof = seen.counted_seconds >= seen.patience_seconds ? WAITS : MOVES;
    for (int i = 0; seen.seconds >= seen.patience_seconds && i < count; i++) {
        const char state = peers[i].process ? process_letter(peers[i].process) : 'R';
        const bool left = peers[i].left;
        if (!left && strchr("TtZX", state))
            return STOPPED;
        const bool asleep = seen.sights[i].asleep_seconds >= seen.patience_seconds;
        if (proof != MOVES && (left ? !strchr("ZX", state) : peers[i].steps % 2 || asleep))
            proof = STUCK;
    }
    return proof;
}

bool hang_look(void)
{
    int count;
    const struct peer *peers = peers_all(&count);
    look_for_progress(peers, count);
    const enum proof proof = proof_of(peers, count);
    if (!(peers[0].rank == 0 ? is_hung(proof) : is_taken(peers[0].rank, proof)))
        return false;
    seen.found = true;
    for (int i = 0; i < count; i++)
        peers_kill(i);
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
    return text;
}
