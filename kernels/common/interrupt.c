/* SPDX-License-Identifier: Apache-2.0 */
/* See interrupt.h. */
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "clock.h"
#include "end_record.h"
#include "note.h"
#include "peers.h"

static const int signals[] = {SIGTERM, SIGINT};
enum { SIGNALS = sizeof signals / sizeof signals[0], ATTEMPTS = 10, PAUSE_MS = 20 };

/* Global, because a handler has no arguments for it. It is written only before the handlers are installed or while the
 * signals are blocked. */
static struct {
    int file;
    long records;
    pthread_t thread; /* the one that writes the log */
    double start_seconds;
    void (*clean)(void);
} watched = {.file = -1};

static sigset_t signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i]);
    return set;
}

/* SIG_BLOCK or SIG_UNBLOCK */
static void change_mask(int how)
{
    const sigset_t set = signal_set();
    sigprocmask(how, &set, NULL);
}

/* The note that another process left or, if one of this node was killed or crashed, a note about that one. The keeper
 * of another node that lost a process may be a moment later than the launcher. */
static bool find_note(char note[NOTE_BYTES])
{
    if (note_take(note))
        return true;
    const int lost = peers_lost();
    if (lost >= 0) {
        note_form(note, lost, note_host(), LOST_REASON);
        return true;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        pause_ms(PAUSE_MS);
        if (note_take(note))
            return true;
    }
    return false;
}

/* A launcher ends rank 0 if another process failed: the note then states the reason. */
static void write_end(int number)
{
    char line[END_RECORD_BYTES], note[NOTE_BYTES];
    const bool noted = find_note(note);
    const struct end end = {.status = noted ? "failed" : "interrupted",
                            .reason = signal_name(number),
                            .note = noted ? note : NULL,
                            .sequence = watched.records,
                            .elapsed_seconds = now_seconds() - watched.start_seconds};
    const ssize_t written = write(watched.file, line, end_record(line, &end));
    (void)written; /* an error cannot be reported any more */
}

/* Open MPI's launcher sends SIGKILL to all processes as soon as the first one has died of its SIGTERM. */
static void let_rank_0_die_first(void)
{
    pause_ms(500);
}

static void end_now(int number)
{
    if (!pthread_equal(pthread_self(), watched.thread)) { /* a thread of the MPI library, which blocks no signals */
        pthread_kill(watched.thread, number);
        return;
    }
    peers_leave(number);
    if (watched.file >= 0)
        write_end(number);
    if (watched.clean)
        watched.clean();
    if (watched.file < 0)
        let_rank_0_die_first();
    _exit(128 + number);
}

static void install(void)
{
    struct sigaction action = {.sa_handler = end_now};
    watched.thread = pthread_self();
    action.sa_mask = signal_set();
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
}

void interrupt_watch(int file, double start_seconds)
{
    watched.file = file;
    watched.records = 0;
    watched.start_seconds = start_seconds;
    install();
}

void interrupt_clean_with(void (*clean)(void))
{
    interrupt_hold();
    watched.clean = clean;
    install();
    interrupt_release(watched.records);
}

void interrupt_hold(void)
{
    change_mask(SIG_BLOCK);
}

void interrupt_release(long records)
{
    watched.records = records;
    change_mask(SIG_UNBLOCK);
}

void interrupt_forget(void)
{
    for (int i = 0; i < SIGNALS; i++)
        signal(signals[i], SIG_DFL);
    watched.file = -1;
    change_mask(SIG_UNBLOCK);
}
