/* SPDX-License-Identifier: Apache-2.0 */
/* trace: the requests of a recorded program (paper, section 6). A process replays one trace, after those that ended
 * before it began when they were recorded; if there are more processes than traces, further copies of the program run
 * at the same time, on their own files. */
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "sub_benchmarks.h"
#include "trace_replay.h"

static const struct priomark_key keys[] = {
    {"recording", PRIOMARK_TEXT, NULL, "trace, or directory with the traces of a recording", 0, 0, NULL},
    {"think_time", PRIOMARK_FLAG, "false", "wait between requests like the recorded program", 0, 0, NULL},
    {"sync", PRIOMARK_FLAG, "true", "synchronise written files at the end, within the time", 0, 0, NULL},
    {0}};

/* The part of the recording that this process replays. */
struct share {
    struct trace trace;
    int copy, copies;
    bool overlapped; /* with another process, when it was recorded */
    bool cached;     /* a process reads what one of the recording writes */
    int64_t late;
    struct turns turns;
};

/* The traces: the file itself, or *.trace of the directory, sorted by name. */
static glob_t find_traces(const struct priomark *run)
{
    const char *place = priomark_count(run, "recording") ? priomark_text(run, "recording", 0) : NULL;
    char pattern[2 * PATH_MAX + sizeof "/*.trace"];
    size_t length = 0;
    struct stat status;
    glob_t names = {0};
    if (!place)
        priomark_refuse(run, "recording", "the key 'recording' is missing; name the directory of a recording");
    if (stat(place, &status) != 0)
        priomark_refuse(run, "recording", "'%.200s' does not exist", place);
    for (const char *at = place; *at; pattern[length++] = *at++) /* the name is used literally */
        if (strchr("*?[\\", *at))
            pattern[length++] = '\\';
    snprintf(pattern + length, sizeof pattern - length, "%s", S_ISDIR(status.st_mode) ? "/*.trace" : "");
    if (glob(pattern, 0, NULL, &names) != 0)
        priomark_refuse(run, "recording",
                        "'%.200s' contains no *.trace; record a program into it (docs/priomark_recording.md)", place);
    return names;
}

/* Reads all traces on each process, because all processes must refuse in the same way. Traces without data (of a shell
 * that only starts programs) are left out, except for what they did unseen, which `unseen` sums up. Returns the number
 * of the others. */
static int read_traces(const struct priomark *run, struct trace **traces, int64_t unseen[TRACE_UNSEEN_KINDS])
{
    glob_t names = find_traces(run);
    int count = 0;
    *traces = allocate(names.gl_pathc, sizeof **traces);
    for (size_t i = 0; i < names.gl_pathc; i++) {
        struct trace *trace = &(*traces)[count];
        *trace = trace_read(run, names.gl_pathv[i]);
        if (trace->moved_bytes > 0) {
            count++;
            continue;
        }
        for (int kind = 0; kind < TRACE_UNSEEN_KINDS; kind++)
            unseen[kind] += trace->unseen[kind];
        trace_free(trace);
    }
    globfree(&names);
    return count;
}

/* "12 mmap, 1 program" */
_Noreturn static void refuse_without_data(const struct priomark *run, const int64_t unseen[TRACE_UNSEEN_KINDS])
{
    char list[256] = "";
    size_t length = 0;
    for (int kind = 0; kind < TRACE_UNSEEN_KINDS && length < sizeof list; kind++)
        if (unseen[kind])
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%" PRId64 " %s", length ? ", " : "",
                                       unseen[kind], trace_unseen_names[kind]);
    priomark_refuse(run, "recording", "no process of the recording moved any data%s%s",
                    length ? " in a way that is recorded; counted were: " : "", list);
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = (*(const struct trace_file *const *)a)->hash, y = (*(const struct trace_file *const *)b)->hash;
    return (x > y) - (x < y);
}

/* Whether a process reads a file that one of the recording writes, itself or another one. */
static bool reads_written(const struct trace *traces, int count)
{
    size_t files = 0, listed = 0;
    for (int i = 0; i < count; i++)
        files += traces[i].files;
    const struct trace_file **file = allocate(files, sizeof *file);
    for (int i = 0; i < count; i++)
        for (size_t f = 0; f < traces[i].files; f++)
            file[listed++] = &traces[i].file[f];
    qsort(file, files, sizeof *file, by_hash);
    bool found = false, read = false, written = false;
    for (size_t f = 0; f < files; f++) {
        const bool same = f > 0 && file[f]->hash == file[f - 1]->hash;
        read = file[f]->read || (same && read);
        written = file[f]->written || (same && written);
        found |= read && written;
    }
    free(file);
    return found;
}

/* --- the order of processes --------------------------------------------------------------------------------------- */

static int64_t begin_of(const struct trace *trace)
{
    return trace->start + (trace->requests ? trace->request[0].at : 0);
}

static int64_t end_of(const struct trace *trace)
{
    return trace->start + trace->end;
}

/* Whether process `late` waits for process `early`: `early` ended before `late` began, and no third process both began
 * after `early` had ended and ended before `late` began. */
static bool follows(const struct trace *traces, int count, int early, int late)
{
    int64_t last_begin = INT64_MIN;
    if (end_of(&traces[early]) > begin_of(&traces[late]))
        return false;
    for (int i = 0; i < count; i++)
        if (end_of(&traces[i]) <= begin_of(&traces[late]) && begin_of(&traces[i]) > last_begin)
            last_begin = begin_of(&traces[i]);
    return end_of(&traces[early]) > last_begin;
}

/* Copies of the program run at the same time, each in its own order. */
static void find_turns(const struct trace *traces, int count, int own, struct share *share)
{
    int64_t first = INT64_MAX, last_end = INT64_MIN;
    share->turns.before = allocate((size_t)count, sizeof *share->turns.before);
    share->turns.after = allocate((size_t)count, sizeof *share->turns.after);
    for (int i = 0; i < count; i++) {
        first = traces[i].start < first ? traces[i].start : first;
        if (follows(traces, count, i, own)) {
            share->turns.before[share->turns.before_count++] = share->copy * count + i;
            last_end = end_of(&traces[i]) > last_end ? end_of(&traces[i]) : last_end;
        }
        share->overlapped |=
            i != own && begin_of(&traces[i]) < end_of(&traces[own]) && begin_of(&traces[own]) < end_of(&traces[i]);
        if (follows(traces, count, own, i))
            share->turns.after[share->turns.after_count++] = share->copy * count + i;
    }
    share->late = traces[own].start - (share->turns.before_count ? last_end : first);
}

static void plan(struct priomark *run)
{
    struct trace *traces;
    struct share *share = allocate(1, sizeof *share);
    int64_t unseen[TRACE_UNSEEN_KINDS] = {0}, most = 0, space = 0;
    const int count = read_traces(run, &traces, unseen), ranks = priomark_ranks(run);
    const bool think = priomark_number(run, "think_time", 0) != 0;
    if (count == 0)
        refuse_without_data(run, unseen);
    if (ranks % count)
        priomark_refuse(run, "recording", "%d processes were recorded: run %d or a multiple of it, not %d", count,
                        count, ranks);
    for (int kind = 0; kind < TRACE_UNSEEN_KINDS; kind++)
        traces[0].unseen[kind] += unseen[kind];
    const int own = priomark_rank(run) % count;
    *share = (struct share){.trace = traces[own], .copy = priomark_rank(run) / count, .copies = ranks / count};
    find_turns(traces, count, own, share);
    share->cached = reads_written(traces, count);
    for (int i = 0; i < count; i++) {
        most = traces[i].moved_bytes > most ? traces[i].moved_bytes : most;
        if (i != own)
            trace_free(&traces[i]);
    }
    for (size_t i = 0; i < share->trace.files; i++)
        space += share->trace.file[i].space_bytes < INT64_MAX / 2 - space ? share->trace.file[i].space_bytes : 0;
    free(traces);
    priomark_add(run, &(struct priomark_case){.pattern = think ? "replay-think" : "replay",
                                              .method = "posix",
                                              .process_bytes = most,
                                              .read_share = -1,
                                              .target = PRIOMARK_IN_DIRECTORY,
                                              .space_bytes = space,
                                              .own = share,
                                              .number = priomark_number(run, "sync", 0)});
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    const struct share *share = now->own;
    const struct replay replay = {.run = run,
                                  .trace = &share->trace,
                                  .copy = share->copy,
                                  .think = strcmp(now->pattern, "replay-think") == 0,
                                  .sync = now->number != 0,
                                  .late = share->late,
                                  .turns = share->turns};
    replay_trace(&replay);
    priomark_evicted(run, !share->cached);
    priomark_value(run, "copies", share->copies);
    priomark_value(run, "overlapped", share->overlapped);
}

const struct sub_benchmark trace_benchmark = {
    .name = "trace", .summary = "the recorded requests of a program", .keys = keys, .plan = plan, .measure = measure};
