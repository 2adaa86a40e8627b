/* SPDX-License-Identifier: Apache-2.0 */
/* See keeper.h. The keeper is the same program in a session of its own. It takes orders only from a socket, never from
 * its command line. The socket closes when its rank ends, in whatever way. The keeper inherits only the socket and
 * standard error, so that no launcher waits for it or counts it as a process; the log follows when it is open. It
 * ignores the signals that end a run: they also reach the rank, whose end closes the socket. */
#include "keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters.h"
#include "clock.h"
#include "end_record.h"
#include "fail.h"
#include "hang.h"
#include "note.h"
#include "peers.h"

extern char **environ;

enum { LOG = STDERR_FILENO + 1, PEERS, ATTEMPTS = 300, ATTEMPT_MS = 100, SPREAD_MS = 1000 };
static const char ready = 1;
static const char keeper_option[] = "--keep-watch", run_mark[] = "{\"record\":\"run\"",
                  end_mark[] = "{\"record\":\"end\"";

static const char launcher_ended[] =
    "the launcher of the run ended before it; see the output of the job for the reason";

struct order {
    enum { TAKE_NOTE, LEAVE_NOTE, REMOVE } kind;
    char note[PATH_MAX], host[NOTE_HOST_BYTES];
    struct own_directory own;
};

/* Room for the number of an open file beside a message, aligned as cmsg(3) requires. */
union attached {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* --- in the rank -------------------------------------------------------------------------------------------------- */

static int to_keeper = -1; /* open as long as this process exists */

/* With an open file, unless it is negative: see unix(7), SCM_RIGHTS. */
static void send_order(const struct order *order, int file)
{
    union attached attached = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)order, .iov_len = sizeof *order};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (to_keeper < 0)
        return;
    if (file >= 0) {
        attached.header.cmsg_len = CMSG_LEN(sizeof file);
        attached.header.cmsg_level = SOL_SOCKET;
        attached.header.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&attached.header), &file, sizeof file);
        message.msg_control = &attached;
        message.msg_controllen = sizeof attached;
    }
    sendmsg(to_keeper, &message, MSG_NOSIGNAL); /* a run continues if its keeper has ended */
}

/* The keeper takes the processor for some milliseconds when it starts: nothing is measured before it waits. A time
 * limit here would be wrong: a slow keeper whose socket is closed believes that its rank has ended. */
static bool wait_until_ready(int keeper)
{
    char received;
    ssize_t bytes;
    do
        bytes = recv(keeper, &received, sizeof received, 0);
    while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof received; /* 0: it has ended */
}

void keeper_start(void)
{
    int ends[2];
    pid_t keeper;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const arguments[] = {(char *)"keeper", (char *)keeper_option, NULL};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    /* nothing that the launcher left open may be taken for one of the keeper's files */
    posix_spawn_file_actions_addopen(&actions, LOG, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addopen(&actions, PEERS, "/dev/null", O_RDWR, 0);
    if (peers_file() >= 0)
        posix_spawn_file_actions_adddup2(&actions, peers_file(), PEERS);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    const bool started = posix_spawn(&keeper, "/proc/self/exe", &actions, &attributes, arguments, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (started && wait_until_ready(ends[1]))
        to_keeper = ends[1];
    else
        close(ends[1]);
}

void keeper_note(int log)
{
    struct order order = {.kind = log >= 0 ? TAKE_NOTE : LEAVE_NOTE};
    snprintf(order.note, sizeof order.note, "%s", note_path());
    snprintf(order.host, sizeof order.host, "%s", note_host());
    send_order(&order, log);
}

void keeper_remove(const struct own_directory *own)
{
    const struct order order = {.kind = REMOVE, .own = *own};
    send_order(&order, -1);
}

/* --- in the keeper ------------------------------------------------------------------------------------------------ */

/* Files that the rank inherited from its launcher, such as the connection by which the launcher notices its end. */
static void close_all_others(void)
{
    DIR *open_files = opendir("/proc/self/fd");
    if (!open_files)
        return;
    for (const struct dirent *entry; (entry = readdir(open_files)) != NULL;) {
        const int file = atoi(entry->d_name);
        if (file > PEERS && file != dirfd(open_files))
            close(file);
    }
    closedir(open_files);
}

static bool begins_with(const char *line, const char *mark)
{
    return strncmp(line, mark, strlen(mark)) == 0;
}

/* Number of lines of the log; -1 if it already has an end, is not a log, or cannot be read. `whole_bytes` becomes the
 * length up to the last complete line. */
static long count_lines(FILE *log, long *whole_bytes)
{
    char *line = NULL;
    size_t room = 0;
    long lines = 0;
    *whole_bytes = 0;
    for (ssize_t bytes; lines >= 0 && (bytes = getline(&line, &room, log)) > 0 && line[bytes - 1] == '\n';) {
        const bool expected = lines == 0 ? begins_with(line, run_mark) : !begins_with(line, end_mark);
        lines = expected ? lines + 1 : -1;
        *whole_bytes += bytes;
    }
    free(line);
    return ferror(log) ? -1 : lines;
}

/* True if the log had no end record and has one now. A log without a complete line is left unchanged. */
static bool close_log(double elapsed_seconds, const char *status, const char *note, const char *reason)
{
    long whole_bytes;
    FILE *log = fdopen(LOG, "r+");
    char line[END_RECORD_BYTES];
    if (!log)
        return false;
    const long lines = fseek(log, 0, SEEK_SET) == 0 ? count_lines(log, &whole_bytes) : -1;
    const struct end end = {
        .status = status, .reason = reason, .note = note, .sequence = lines, .elapsed_seconds = elapsed_seconds};
    char *const hung = hang_found() ? hang_end(lines, elapsed_seconds) : NULL;
    line[end_record(line, &end)] = '\0';
    const bool written = lines > 0 && ftruncate(LOG, whole_bytes) == 0 && fseek(log, 0, SEEK_END) == 0 &&
                         (hung ? fprintf(log, "%s\n", hung) : fprintf(log, "%s", line)) > 0;
    free(hung);
    return fclose(log) == 0 && written;
}

/* Processes of the run that are still alive may keep files open for a while. One that was ended in mkdir() or open() on
 * a file system that hangs creates the directory or the file when that goes on. */
static void remove_directory(const struct own_directory *own)
{
    while (hang_found() && !peers_await_ends(SPREAD_MS))
        ;
    for (int attempt = 0; attempt < ATTEMPTS && !remove_own_directory(own); attempt++)
        pause_ms(ATTEMPT_MS);
}

/* The process of which a run that left no note and did not close its log says that it was killed or crashed: rank 0, if
 * no other one was seen to end before. */
static int find_lost(void)
{
    const int lost = peers_lost();
    if (peers_launcher_ended())
        return lost == NO_PEER ? NO_PEER : SEVERAL_PEERS;
    return lost == NO_PEER ? 0 : lost;
}

/* Why the run ended if not by a single process. */
static const char *reason_of(int lost)
{
    if (hang_found())
        return note_path()[0] ? "the run hangs and was ended; 'coffeecup score' on its log states where"
                              : "the run hangs and was ended before it had a log";
    return lost == NO_PEER ? launcher_ended : "several processes were " LOST_REASON;
}

/* On other nodes than that of rank 0: tells its keeper which process was lost. Whether there is a note to withdraw. */
static bool tell_rank_0(void)
{
    const int lost = peers_lost();
    return lost >= 0 && !peers_launcher_ended() && note_leave_of(lost, LOST_REASON);
}

/* The log beside which the note is. */
static bool log_has_end(void)
{
    char path[PATH_MAX];
    long whole_bytes;
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(note_path(), '.') - note_path()), note_path());
    FILE *log = fopen(path, "re");
    const bool has_end = !log || count_lines(log, &whole_bytes) < 0;
    if (log)
        fclose(log);
    return has_end;
}

/* Rank 0 and its keeper may have ended before they could take the note. */
static void withdraw_note(void)
{
    for (int attempt = 0; attempt < ATTEMPTS && access(note_path(), F_OK) == 0 && !log_has_end(); attempt++)
        pause_ms(ATTEMPT_MS);
    unlink(note_path());
}

/* In a process of its own, because a log or files on a file system that hangs stop the keeper. One node prints it. */
static void end_hung_launcher(void)
{
    int count;
    if (peers_all(&count)->rank == 0)
        print_if_read("%s", reason_of(NO_PEER));
    if (fork() == 0) {
        hang_end_launcher();
        _exit(EXIT_SUCCESS);
    }
}

/* An open file that comes with an order is the log. */
static ssize_t receive_order(struct order *order)
{
    union attached attached = {.bytes = {0}};
    struct iovec part = {.iov_base = order, .iov_len = sizeof *order};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &attached, .msg_controllen = sizeof attached};
    const ssize_t bytes = recvmsg(STDIN_FILENO, &message, 0);
    if (bytes > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) && attached.header.cmsg_type == SCM_RIGHTS) {
        int file;
        memcpy(&file, CMSG_DATA(&attached.header), sizeof file);
        dup2(file, LOG);
        close(file);
    }
    return bytes;
}

/* Returns when the rank has ended; false if there is no directory to remove. */
static bool wait_for_end(struct own_directory *own, int *lost, bool *told)
{
    struct order order;
    bool removes = false, found = false;
    for (;;) {
        if (!found && peers_watch(STDIN_FILENO, hang_look)) {
            found = true;
            *lost = find_lost();
            *told = tell_rank_0();
        }
        if (hang_found()) { /* a process that waits in the kernel does not end before that is over */
            *lost = NO_PEER;
            return removes;
        }
        const ssize_t bytes = receive_order(&order);
        if (bytes == 0 || (bytes < 0 && errno != EINTR))
            break;
        if (bytes != (ssize_t)sizeof order)
            continue;
        if (order.kind == REMOVE) {
            *own = order.own;
            removes = true;
        } else {
            note_adopt(order.note, order.host, order.kind == TAKE_NOTE);
        }
    }
    if (!found) {
        *lost = find_lost();
        *told = tell_rank_0();
    }
    return removes;
}

static void ignore_signals(void)
{
    static const int numbers[] = {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], SIG_IGN);
}

void keeper_main(int argc, char **argv)
{
    const double start_seconds = now_seconds();
    struct stat input;
    struct own_directory own;
    char note[NOTE_BYTES];
    if (argc != 2 || strcmp(argv[1], keeper_option) != 0 || fstat(STDIN_FILENO, &input) != 0 ||
        !S_ISSOCK(input.st_mode))
        return;
    ignore_signals();
    close_all_others();
    adapters_begin();
    send(STDIN_FILENO, &ready, sizeof ready, MSG_NOSIGNAL);
    peers_adopt(PEERS);
    int lost = 0;
    bool told = false;
    const bool removes = wait_for_end(&own, &lost, &told);
    if (hang_found())
        end_hung_launcher();
    hang_withdraw();
    if (lost >= 0) { /* others may end at the same time; Hydra of MPICH ends those of all nodes */
        if (peers_nodes() > 1)
            pause_ms(SPREAD_MS);
        peers_await_ends(SPREAD_MS);
        lost = peers_several_lost() ? find_lost() : lost;
    }
    const char *const lost_reason = peers_several_lost() ? FIRST_LOST_REASON : LOST_REASON;
    bool noted = note_take(note) && !hang_found();
    if (noted && strstr(note, LOST_REASON)) { /* of another node: which process was lost first is not known */
        noted = false;
        lost = lost == NO_PEER ? NO_PEER : SEVERAL_PEERS;
    }
    const int number = lost == 0 && !noted ? peers_signal() : 0; /* a launcher may send SIGKILL while rank 0 ends */
    const bool named = noted || (lost >= 0 && !number);
    if (named && !noted)
        note_form(note, lost, note_host(), lost_reason);
    const bool closed = close_log(now_seconds() - start_seconds, number ? "interrupted" : "failed", named ? note : NULL,
                                  number ? signal_name(number) : reason_of(lost));
    if (closed && named && !noted) /* a process that left a note has printed its message */
        print_if_read("rank %d: %s", lost, lost_reason);
    else if (closed && !named && !number && !hang_found())
        print_if_read("%s", reason_of(lost));
    if (removes)
        remove_directory(&own);
    if (told)
        withdraw_note();
    exit(EXIT_SUCCESS);
}
