/* SPDX-License-Identifier: Apache-2.0 */
/* trace: the requests of a recorded program (paper, section 6). A process replays one trace; if there are more
 * processes than traces, further copies of the program run at the same time, on their own files. */
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "plugins.h"
#include "trace_replay.h"

static const struct priomark_key keys[] = {
    {"recording", PRIOMARK_TEXT, NULL, "trace, or directory with the traces of a recording", 0, 0, NULL},
    {"think_time", PRIOMARK_FLAG, "false", "wait between requests like the recorded program", 0, 0, NULL},
    {"sync", PRIOMARK_FLAG, "true", "synchronise written files at the end, within the time", 0, 0, NULL},
    {0}};

/* The part of the recording that this process replays. */
struct share {
    struct trace trace;
    int copy;
    int64_t late;
};

/* The traces: the file itself, or *.trace of the directory, sorted by name. */
static glob_t find_traces(const struct priomark *run)
{
    const char *place = priomark_text(run, "recording", 0);
    char pattern[PATH_MAX];
    struct stat status;
    glob_t names = {0};
    if (stat(place, &status) != 0)
        priomark_refuse(run, "recording", "'%.200s' does not exist", place);
    snprintf(pattern, sizeof pattern, S_ISDIR(status.st_mode) ? "%s/*.trace" : "%s", place);
    /* The name of a file is used literally. */
    if (glob(pattern, S_ISDIR(status.st_mode) ? 0 : GLOB_NOCHECK | GLOB_NOESCAPE, NULL, &names) != 0)
        priomark_refuse(run, "recording", "'%.200s' contains no *.trace; record a program into it (docs/priomark.md)",
                        place);
    return names;
}

/* Reads all traces on each process, because all processes must refuse in the same way. Traces without data (of a shell
 * that only starts programs) are left out. Returns the number of the others. */
static int read_traces(const struct priomark *run, struct trace **traces)
{
    glob_t names = find_traces(run);
    int count = 0;
    *traces = allocate(names.gl_pathc, sizeof **traces);
    for (size_t i = 0; i < names.gl_pathc; i++) {
        char reason[PATH_MAX + 256];
        if (!trace_read(&(*traces)[count], names.gl_pathv[i], reason, sizeof reason))
            priomark_refuse(run, "recording", "%s", reason);
        if ((*traces)[count].moved_bytes > 0)
            count++;
        else
            trace_free(&(*traces)[count]);
    }
    globfree(&names);
    return count;
}

static void plan(struct priomark *run)
{
    struct trace *traces;
    struct share *share = allocate(1, sizeof *share);
    const int count = read_traces(run, &traces), ranks = priomark_ranks(run);
    const bool think = priomark_number(run, "think_time", 0) != 0;
    int64_t first = INT64_MAX, most = 0, space = 0;
    if (count == 0)
        priomark_refuse(run, "recording", "no process of the recording moved any data");
    if (ranks % count)
        priomark_refuse(run, "recording", "%d processes were recorded: run %d or a multiple of it, not %d", count,
                        count, ranks);
    for (int i = 0; i < count; i++) {
        first = traces[i].start < first ? traces[i].start : first;
        most = traces[i].moved_bytes > most ? traces[i].moved_bytes : most;
    }
    for (int i = 0; i < count; i++)
        if (i == priomark_rank(run) % count)
            *share = (struct share){traces[i], priomark_rank(run) / count, traces[i].start - first};
        else
            trace_free(&traces[i]);
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
                                  .late = share->late};
    replay_trace(&replay);
}

const struct priomark_plugin trace_plugin = {
    PRIOMARK_INTERFACE, "trace", "the recorded requests of a program", keys, plan, measure};
