/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. A pass is one access method of one pattern in one phase, from opening its files to closing them. All
 * passes of a pattern make the same calls, whatever the load. Load begins before the first pass of its phase and ends
 * after the last one; all messages that begin and end it are outside of timed regions. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "file_load.h"
#include "files.h"
#include "latency.h"
#include "memory.h"
#include "peers.h"
#include "progress.h"
#include "random.h"

enum { WITHOUT = LOAD_KINDS, STATES };   /* a state: a kind of load, or none */
static const double telling_share = 0.5; /* of a pass: a shorter trial does not predict the duration of calls */

/* For the table at the terminal. */
struct sums {
    double bytes[METHODS], seconds[METHODS], load_bytes, load_seconds;
};

/* `now` is the first member: the callbacks of a pattern get its address. */
struct loaded {
    struct step now;
    struct state state;
    const struct plan *plan;
    struct file_load files[LOAD_KINDS];
    int repetition, phase;        /* counted from 1 and from 0 */
    int load_state;               /* the kind of load, or WITHOUT */
    int64_t calls[LOAD_PATTERNS]; /* of each process in a pass */
    double *each_seconds;
    struct latency *latency;
    struct sums sums[STATES];
};

/* --- a pass on the victims ---------------------------------------------------------------------------------------- */

/* Every process has other data in each pass that writes. */
static uint32_t source_of(const struct loaded *loaded, bool rewritten)
{
    const int phase = loaded->repetition * phases_of(&loaded->plan->load) + loaded->phase;
    const uint64_t pass = (uint64_t)(phase * PATTERNS + loaded->now.number) * 2 + rewritten;
    return (uint32_t)random_number(pass << 32, (uint64_t)loaded->now.stream.rank);
}

static uint32_t source_of_call(void *context, int64_t call)
{
    (void)call; /* all are rewritten */
    return source_of(context, true);
}

static void close_pass(struct loaded *loaded, const struct pattern *pattern, int64_t calls, struct files *files)
{
    struct step *now = &loaded->now;
    watch(now, "closing pattern", now->number);
    close_files(now, calls * pattern->call_bytes * (now->row->separate ? 1 : now->processes), files);
    peers_arrive();
}

static struct result run_pass(struct loaded *loaded, int64_t calls, struct files *files)
{
    struct step *now = &loaded->now;
    struct problem problem = {0};
    const struct pattern *pattern = &loaded->state.request->pattern[now->number];
    const struct access access = {
        .stream = &now->stream,
        .type = now->row,
        .method = now->method,
        .walk = &loaded->state.walk,
        .limits = {.calls = calls, .calls_of_space = calls, .round_calls = round_calls(pattern)},
        .check_all = loaded->state.request->check_all,
        .each_seconds = loaded->each_seconds,
        .source = source_of_call,
        .context = loaded};
    watch(now, "opening pattern", now->number);
    open_files(now, pattern->chunk_bytes, files);
    peers_arrive();
    prepare_buffer(now, pattern, calls, source_of(loaded, now->method == METHOD_REWRITE));
    watch(now, "pattern", now->number);
    const struct result result = access_pattern(&access, 0, pattern, calls, &problem);
    stop_on_problem(now, &problem);
    close_pass(loaded, pattern, calls, files);
    return result;
}

/* The times of all calls of all processes. */
static json_t *accesses_json(const struct loaded *loaded, int64_t calls)
{
    latency_clear(loaded->latency);
    for (int64_t i = 0; i < calls; i++)
        latency_add(loaded->latency, loaded->each_seconds[i]);
    latency_gather(loaded->latency, loaded->now.comm);
    return loaded->state.run->log ? latency_json(loaded->latency) : NULL;
}

static void log_pass(const struct loaded *loaded, int64_t calls, const struct files *files, const struct result *result,
                     json_t *accesses)
{
    const struct step *now = &loaded->now;
    const struct pattern *pattern = &loaded->state.request->pattern[now->number];
    const char *load = loaded->load_state == WITHOUT ? NULL : load_kind_names[loaded->load_state];
    const int64_t bytes = result->calls_sum * pattern->call_bytes;
    json_t *fields = OBJECT(
        field_int("repetition", loaded->repetition), field_int("phase", loaded->phase), field_text("load", load),
        field_text("method", methods[now->method].name), field_int("pattern", now->number),
        field_text("type", now->row->name), field_int("calls", calls), field_int("bytes", bytes),
        field_real("open_seconds", files->open_seconds), field_real("elapsed_seconds", result->elapsed),
        field_real("access_seconds", result->access), field_real("access_fastest_seconds", result->access_fastest),
        field_real("sync_seconds", result->sync), field_real("close_seconds", files->close_seconds),
        field_int_or_null("cached_bytes", files->cached_bytes >= 0, files->cached_bytes),
        field_json("accesses", accesses));
    log_write(loaded->state.run->log, "loaded", fields);
}

static void measure_pass(struct loaded *loaded, int64_t calls)
{
    struct files files;
    const enum method_number method = loaded->now.method;
    const struct result result = run_pass(loaded, calls, &files);
    const struct pattern *pattern = &loaded->state.request->pattern[loaded->now.number];
    json_t *accesses = accesses_json(loaded, calls);
    if (loaded->state.run->log)
        log_pass(loaded, calls, &files, &result, accesses);
    if (method == METHOD_READ) {
        loaded->state.read_bytes += calls * pattern->call_bytes;
        loaded->state.checked_bytes += result.checked_bytes;
    }
    struct sums *sums = &loaded->sums[loaded->load_state];
    sums->bytes[method] += (double)(result.calls_sum * pattern->call_bytes);
    sums->seconds[method] += files.open_seconds + result.elapsed + files.close_seconds;
}

static void choose_pattern(struct loaded *loaded, int place)
{
    struct step *now = &loaded->now;
    now->number = load_patterns[place];
    now->type = loaded->state.request->pattern[now->number].type;
    now->row = type_of(loaded->state.request, now->type);
}

/* Files of the next phase are new ones. */
static void measure_patterns(struct loaded *loaded)
{
    for (int place = 0; place < LOAD_PATTERNS; place++) {
        choose_pattern(loaded, place);
        for (int method = 0; method < METHODS; method++) {
            loaded->now.method = (enum method_number)method;
            measure_pass(loaded, loaded->calls[place]);
        }
        remove_files(&loaded->now);
    }
}

/* Writes without load, twice as many calls each time, until the duration of a pass can be predicted. */
static void try_calls(struct loaded *loaded, int place)
{
    choose_pattern(loaded, place);
    const int64_t most = most_calls(loaded->plan, &loaded->state.request->pattern[loaded->now.number]);
    for (int64_t calls = 1;; calls = 2 * calls < most ? 2 * calls : most) {
        struct files files;
        const struct result result = run_pass(loaded, calls, &files);
        remove_files(&loaded->now);
        if (loaded->state.run->log)
            log_write(loaded->state.run->log, "loaded_trial",
                      OBJECT(field_int("pattern", loaded->now.number), field_int("calls", calls),
                             field_real("elapsed_seconds", result.elapsed)));
        loaded->calls[place] = choose_calls(loaded->plan, calls, result.elapsed, most);
        if (calls >= most || result.elapsed >= telling_share * pass_seconds(loaded->plan))
            return;
    }
}

/* --- a phase ------------------------------------------------------------------------------------------------------ */

/* What all generating processes moved, from the traffic of this one; zeros on the victims. */
static void log_load(struct loaded *loaded, const struct traffic *mine)
{
    const struct totals totals = load_totals(mine);
    struct sums *sums = &loaded->sums[loaded->load_state];
    sums->load_bytes += (double)(totals.sent_bytes + totals.received_bytes);
    sums->load_seconds += totals.longest_seconds;
    if (!loaded->state.run->log)
        return;
    json_t *fields = OBJECT(field_int("repetition", loaded->repetition), field_int("phase", loaded->phase),
                            field_text("load", load_kind_names[loaded->load_state]));
    json_object_update_new(fields, load_totals_json(&totals));
    json_object_set_new(fields, "cached_bytes", json_integer(totals.cached_bytes));
    log_write(loaded->state.run->log, "load", fields);
}

static void measure_phase(struct loaded *loaded, int phase, int load_state)
{
    const struct load *load = &loaded->plan->load;
    const bool under_load = load_state != WITHOUT, first = loaded->state.run->rank == 0;
    struct traffic traffic = {0};
    loaded->phase = phase;
    loaded->load_state = load_state;
    run_follow(loaded->state.run);
    wait_for_all();
    if (load->measured != MPI_COMM_NULL) {
        if (under_load && first)
            await_generators(load);
        MPI_CHECK(MPI_Barrier(load->measured));
        measure_patterns(loaded);
        MPI_CHECK(MPI_Barrier(load->measured));
        if (under_load && first)
            stop_generators(load);
    } else if (under_load) {
        traffic = file_load_generate(&loaded->files[load_state], load);
    }
    wait_for_all();
    if (under_load) {
        load_stop_on_reason(&traffic);
        log_load(loaded, &traffic);
    }
}

static void measure_repetition(struct loaded *loaded)
{
    int phase = 0;
    measure_phase(loaded, phase++, WITHOUT);
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        if (loaded->plan->load.kinds >> kind & 1) {
            measure_phase(loaded, phase++, kind);
            measure_phase(loaded, phase++, WITHOUT);
        }
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* The first repetition may take longer than the scheduled time; others end before. */
static bool has_time(const struct loaded *loaded, double longest_seconds)
{
    const double elapsed = run_elapsed_seconds(loaded->state.run);
    int fits = loaded->repetition == 1 || elapsed + longest_seconds <= loaded->state.request->scheduled_seconds;
    MPI_CHECK(MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!fits && loaded->state.run->log)
        log_write(loaded->state.run->log, "stop",
                  OBJECT(field_int("repetition", loaded->repetition), field_real("elapsed_seconds", elapsed)));
    return fits;
}

static void print_table(const struct loaded *loaded)
{
    printf("%-12s %12s %12s %12s %18s\n", "load", methods[0].name, methods[1].name, methods[2].name, "load [MByte/s]");
    for (int s = 0; s < STATES; s++) {
        const struct sums *sums = &loaded->sums[s];
        if (!(sums->seconds[0] > 0))
            continue;
        printf("%-12s", s == WITHOUT ? "none" : load_kind_names[s]);
        for (int m = 0; m < METHODS; m++)
            printf(" %12.1f", 1e-6 * sums->bytes[m] / sums->seconds[m]);
        printf(" %18.1f\n", s == WITHOUT ? 0 : 1e-6 * sums->load_bytes / sums->load_seconds);
    }
    printf("MByte/s of the victims from opening to closing the files, over all patterns, and of the processes that "
           "generate load.\n");
}

static void measure_repetitions(struct loaded *loaded)
{
    const struct run *run = loaded->state.run;
    double longest = 0;
    for (int repetition = 1; repetition <= LOAD_REPETITIONS; repetition++) {
        const double start = run_elapsed_seconds(run);
        loaded->repetition = repetition;
        if (!has_time(loaded, longest))
            return;
        measure_repetition(loaded);
        longest = fmax(longest, run_elapsed_seconds(run) - start);
        progress_show((double)repetition / LOAD_REPETITIONS, run_elapsed_seconds(run), "under load");
    }
}

static void set_files(struct loaded *loaded)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        loaded->files[kind] = (struct file_load){.name = load_kind_names[kind],
                                                 .reads = kind == LOAD_READ,
                                                 .writes = kind == LOAD_WRITE,
                                                 .file_bytes = loaded->plan->file_bytes};
}

void measure(struct run *run, const struct plan *plan)
{
    struct loaded loaded = {
        .state = {.run = run, .request = &plan->request, .walk = walk_allocate(plan->request.largest_call_bytes)},
        .plan = plan,
        .load_state = WITHOUT};
    loaded.now = (struct step){.state = &loaded.state,
                               .comm = plan->load.measured,
                               .in_order = plan->load.measured,
                               .processes = plan->load.measured_ranks};
    loaded.each_seconds = allocate(MOST_LOADED_CALLS, sizeof *loaded.each_seconds);
    loaded.latency = allocate(1, sizeof *loaded.latency);
    set_files(&loaded);
    if (loaded.now.comm != MPI_COMM_NULL)
        for (int place = 0; place < LOAD_PATTERNS; place++)
            try_calls(&loaded, place);
    measure_repetitions(&loaded);
    progress_end();
    if (run->rank == 0)
        print_table(&loaded);
    run_log_data_check(run, "read_bytes", loaded.state.read_bytes, loaded.state.checked_bytes);
    free(loaded.latency);
    free(loaded.each_seconds);
    walk_free(&loaded.state.walk);
}
