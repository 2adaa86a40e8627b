/* SPDX-License-Identifier: Apache-2.0 */
/* See fail.h. */
#include "fail.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"

/* A turn is longer than a rank needs to print its message and to abort all others. */
enum { MESSAGE_LENGTH = 1024, ABORT_SECONDS = 10, READ_MS = 100, TURN_MS = 250, MAX_TURNS = 8, MOST_ACTIONS = 4 };
enum { UNREAD_MS = 5000 };

/* Global, because fail() is called from everywhere and no argument gives it the run. */
static const char *program_name = "coffeecup";
static void (*actions[MOST_ACTIONS])(const struct failure *);
static int count_of_actions;

void fail_setup(const char *program)
{
    program_name = program;
}

void fail_do(void (*action)(const struct failure *))
{
    if (count_of_actions == MOST_ACTIONS)
        fail("more than %d actions at a failure; raise MOST_ACTIONS", MOST_ACTIONS);
    actions[count_of_actions++] = action;
}

/* Each action runs once, because one that fails must not be called again. */
static void do_actions(const struct failure *failure)
{
    while (count_of_actions > 0)
        actions[--count_of_actions](failure);
}

static bool mpi_is_up(void)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

static int world_rank(void)
{
    int rank = 0;
    if (mpi_is_up())
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static _Noreturn void stop_together(int status, int rank, const char *format, va_list arguments)
{
    char message[MESSAGE_LENGTH];
    vsnprintf(message, sizeof message, format, arguments);
    if (world_rank() == 0)
        fprintf(stderr, "%s: error: %s\n", program_name, message);
    do_actions(&(struct failure){.message = message, .rank = rank, .together = mpi_is_up()});
    if (mpi_is_up())
        MPI_Finalize();
    exit(status);
}

void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    stop_together(EXIT_REFUSED, NO_RANK, format, arguments);
}

void fail_together(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    stop_together(EXIT_FAILED, NO_RANK, format, arguments);
}

void fail_together_for(int rank, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    stop_together(EXIT_FAILED, rank, format, arguments);
}

/* Errors such as a full disk often occur in all processes at once. The lower ranks print first, and their abort
 * prevents the same line from all others. */
static void let_lower_ranks_print(int rank)
{
    pause_ms(rank < MAX_TURNS ? rank * TURN_MS : MAX_TURNS * TURN_MS);
}

/* MPICH's launcher discards output of an aborting process that it has not read yet. */
static void let_launcher_read(void)
{
    pause_ms(READ_MS);
}

/* After failed I/O, MPI_Abort may hang. The alarm then kills this process, and the launcher ends the others. */
static void abort_all(void)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(ABORT_SECONDS);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
}

static _Noreturn void stop_alone(int rank, const char *host, const char *format, va_list arguments)
{
    char message[MESSAGE_LENGTH];
    vsnprintf(message, sizeof message, format, arguments);
    let_lower_ranks_print(world_rank());
    fprintf(stderr, "%s: error: rank %d: %s\n", program_name, rank, message);
    do_actions(&(struct failure){.message = message, .rank = rank, .host = host});
    if (mpi_is_up()) {
        let_launcher_read();
        abort_all();
    }
    exit(EXIT_FAILED);
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    stop_alone(world_rank(), NULL, format, arguments);
}

void fail_for(int rank, const char *host, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    stop_alone(rank, host, format, arguments);
}

/* poll() of a pipe is true if PIPE_BUF bytes can be written without waiting. */
void print_if_read(const char *format, ...)
{
    char *text = NULL;
    size_t bytes = 0, done = 0;
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    va_list arguments;
    FILE *line = open_memstream(&text, &bytes);
    if (!line)
        return;
    va_start(arguments, format);
    fputs("error: ", line);
    vfprintf(line, format, arguments);
    va_end(arguments);
    fputc('\n', line);
    fclose(line);
    while (done < bytes && poll(&output, 1, UNREAD_MS) > 0) {
        const ssize_t written = write(STDERR_FILENO, text + done, bytes - done < PIPE_BUF ? bytes - done : PIPE_BUF);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    free(text);
}

void mpi_error_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0;
    snprintf(text, MPI_MAX_ERROR_STRING, "unknown error");
    MPI_Error_string(code, text, &length);
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = ' ';
}

void report_mpi_error(int code, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    mpi_error_text(code, text);
    fail("%s (%s:%d): %s", call, file, line, text);
}
