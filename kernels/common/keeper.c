/* See keeper.h. The keeper is the same program in a session of its own. It holds nothing open but the end of a pipe that
 * closes when rank 0 is gone, however that came about, so that no launcher waits for it or counts it as a process. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

extern char **environ;

enum { ARGUMENTS = 4, TAIL_BYTES = 4096 };
static const char mark[] = "--keep-watch", end_mark[] = "{\"record\":\"end\"";

void keeper_start(const char *log, const char *directory)
{
    int ends[2];
    pid_t keeper;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const arguments[] = {(char *)"keeper", (char *)mark, (char *)log, (char *)(directory ? directory : ""), NULL};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn(&keeper, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]); /* the other end stays open as long as this process lives */
}

/* What rank 0 inherited from its launcher, such as the connection by which the launcher notices its end. */
static void close_all_others(void)
{
    const long most = sysconf(_SC_OPEN_MAX);
    for (int file = STDERR_FILENO + 1; file < (most > 0 && most < 65536 ? most : 65536); file++)
        close(file);
}

/* How many lines a log has; -1 if it is closed already or cannot be read. `line_bytes` becomes the length up to the last
 * whole line. */
static long count_lines(FILE *log, long *whole_bytes)
{
    long lines = 0;
    size_t matched = 0;
    int is_end = 0;
    *whole_bytes = 0;
    for (long at = 1, byte; (byte = fgetc(log)) != EOF; at++) {
        if (matched < strlen(end_mark))
            matched = byte == end_mark[matched] ? matched + 1 : TAIL_BYTES;
        if (matched == strlen(end_mark))
            is_end = 1;
        if (byte == '\n') {
            lines++;
            matched = 0;
            *whole_bytes = at;
        }
    }
    return is_end || ferror(log) ? -1 : lines;
}

static void close_log(const char *path)
{
    long whole_bytes;
    FILE *log = fopen(path, "r+");
    const long lines = log ? count_lines(log, &whole_bytes) : -1;
    if (lines > 0 && ftruncate(fileno(log), whole_bytes) == 0 && fseek(log, 0, SEEK_END) == 0) {
        static const char reason[] = "rank 0 was killed or crashed; the output of the job may say why";
        fprintf(log, "%s,\"sequence\":%ld,\"status\":\"failed\",\"reason\":\"%s\",\"records\":%ld,\"elapsed_seconds\":0.0}\n",
                end_mark, lines, reason, lines + 1);
        fprintf(stderr, "error: %s\n", reason);
    }
    if (log)
        fclose(log);
}

void keeper_main(int argc, char **argv)
{
    char byte;
    if (argc != ARGUMENTS || strcmp(argv[1], mark) != 0)
        return;
    close_all_others();
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    close_log(argv[2]);
    if (argv[3][0]) {
        scratch_adopt(argv[3]);
        scratch_discard();
    }
    exit(EXIT_SUCCESS);
}
