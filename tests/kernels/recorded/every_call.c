/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each call that the recorder takes over at least once and tells what it got: descriptors, results, errno, bytes.
 * With the recorder it has to say the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[65536];
static int log_file;

/* The value of a call and of errno, which a call that succeeds may not touch. */
#define TELL(call)                                             \
    do {                                                       \
        errno = 77;                                            \
        const long value_ = (long)(call);                      \
        const int errno_ = errno;                              \
        printf("%s = %ld, errno %d\n", #call, value_, errno_); \
    } while (0)

static void handler(int number)
{
    (void)number;
    const ssize_t written = write(log_file, "signal\n", 7);
    (void)written;
}

static void transfers(void)
{
    struct iovec part[3] = {{data, 100}, {data + 1000, 0}, {data + 2000, 4000}};
    int file = -1;
    void *volatile nowhere = NULL;
    volatile size_t some = 5000; /* a size that the compiler does not know: __read_chk and its like */
    TELL(file = open("transfers", O_RDWR | O_CREAT | O_TRUNC, 0644));
    TELL(write(file, data, sizeof data));
    TELL(writev(file, part, 3));
    TELL(pwrite(file, data, some, 123));
    TELL(pwritev(file, part, 3, 70000));
    TELL(pwritev2(file, part, 2, -1, 0));
    TELL(pwritev2(file, part, 2, 9, 0));
    TELL(lseek(file, 10, SEEK_SET));
    TELL(read(file, data, some));
    TELL(readv(file, part, 3));
    TELL(pread(file, data, some, 77));
    TELL(preadv(file, part, 3, 60000));
    TELL(preadv2(file, part, 1, -1, 0));
    TELL(preadv2(file, part, 1, 3, 0));
    TELL(lseek(file, -5, SEEK_END));
    TELL(read(file, data, some));
    TELL(read(file, data, some));
    TELL(lseek(file, -1, SEEK_SET));
    TELL(lseek(file, 0, SEEK_DATA));
    TELL(fsync(file));
    TELL(fdatasync(file));
    TELL(ftruncate(file, 5000));
    TELL(write(file, nowhere, 10)); /* EFAULT */
    TELL(close(file));
    TELL(close(file));
    TELL(read(file, data, 1));
}

static void opens(void)
{
    int file = -1, folder = -1, copy = -1;
    char name[] = "temporary-XXXXXX";
    TELL(folder = open(".", O_RDONLY | O_DIRECTORY));
    TELL(file = openat(folder, "transfers", O_RDONLY | O_CLOEXEC));
    TELL(close(folder));
    TELL(copy = dup(file));
    TELL(dup2(file, 20));
    TELL(dup3(file, 21, O_CLOEXEC));
    TELL(dup2(file, file));
    TELL(fcntl(file, F_DUPFD, 10));
    TELL(fcntl(file, F_DUPFD_CLOEXEC, 10));
    TELL(read(20, data, 100)); /* one pointer for all of them */
    TELL(read(copy, data, 100));
    TELL(lseek(21, 0, SEEK_CUR));
    TELL(close(file));
    TELL(close(copy));
    TELL(close_range(10, 15, 0));
    TELL(file = creat("created", 0600));
    TELL(fcntl(file, F_SETFL, O_APPEND));
    TELL(dup2(file, 20));
    TELL(write(20, "abc", 3));
    TELL(lseek(file, 0, SEEK_SET));
    TELL(write(file, "def", 3)); /* at the end all the same */
    TELL(close(file));
    TELL(open("does-not-exist", O_RDONLY));
    TELL(open("created", O_RDONLY | O_CREAT | O_EXCL, 0600));
    file = mkstemp(name);
    unlink(name);
    TELL(file);
    TELL(write(file, data, 10));
    TELL(dup2(1, file)); /* replaces it */
    TELL(close(file));
    closefrom(3);
    TELL(dup(0));
    TELL(close(3));
}

static void copies(void)
{
    off_t offset = 100, to_offset = 7;
    int from = -1, to = -1, pipes[2];
    TELL(from = open("transfers", O_RDONLY));
    TELL(to = open("copied", O_WRONLY | O_CREAT, 0644));
    TELL(copy_file_range(from, NULL, to, NULL, 1000, 0));
    TELL(copy_file_range(from, &offset, to, &to_offset, 1000, 0));
    TELL(sendfile(to, from, NULL, 500));
    TELL(sendfile(to, from, &offset, 500));
    TELL(pipe(pipes));
    TELL(sendfile(pipes[1], from, NULL, 50));
    TELL(read(pipes[0], data, 100));
    TELL(write(pipes[1], data, 10));
    printf("offsets %ld %ld\n", (long)offset, (long)to_offset);
    closefrom(3);
}

static void streams(void)
{
    FILE *file = fopen("stream", "w");
    TELL(fileno(file));
    TELL(fwrite(data, 1, 10000, file));
    TELL(fprintf(file, "%d", 12345));
    TELL(fseek(file, 5, SEEK_SET));
    TELL(fputs("in between", file));
    TELL(fclose(file));
    file = fopen("stream", "a");
    TELL(fputs("more", file));
    TELL(fflush(file));
    TELL(fputs("and more", file));
    file = freopen("stream", "r+", file);
    TELL(fread(data, 1, 9000, file));
    TELL(fread(data, 1, 9000, file));
    TELL(ftell(file));
    TELL(fseek(file, 0, SEEK_SET));
    TELL(fputc('x', file));
    TELL(fclose(file));
    TELL(fopen("does-not-exist", "r"));
    file = tmpfile();
    TELL(fputs("temporary", file));
    TELL(fclose(file));
}

static void processes(const char *self)
{
    int status = 0;
    const int file = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
    TELL(write(file, "parent", 6));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        TELL(write(file, "child", 5)); /* the pointer is one with the parent's */
        TELL(open("shared", O_RDONLY));
        fflush(stdout);
        _exit(3);
    }
    waitpid(child, &status, 0);
    TELL(status);
    TELL(lseek(file, 0, SEEK_CUR));
    const pid_t other = vfork();
    if (other == 0) {
        close(file); /* not the parent's */
        execl(self, self, "echo", (char *)NULL);
        _exit(1);
    }
    waitpid(other, &status, 0);
    TELL(status);
    TELL(write(file, "again", 5));
    TELL(kill(getpid(), SIGUSR1));
    TELL(close(file));
}

static void *blocked(void *pipe_end)
{
    char byte;
    const ssize_t result = read(*(int *)pipe_end, &byte, 1);
    return (void *)result;
}

static void cancellation(void)
{
    pthread_t thread;
    int pipes[2];
    void *result;
    TELL(pipe(pipes));
    pthread_create(&thread, NULL, blocked, &pipes[0]);
    usleep(50000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    TELL(result == PTHREAD_CANCELED);
    closefrom(3);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const int file = open("echo", O_WRONLY | O_CREAT, 0644);
        TELL(file);
        TELL(write(file, "echo", 4));
        return 5;
    }
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 251);
    log_file = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    transfers();
    opens();
    log_file = open("log", O_WRONLY | O_APPEND);
    copies();
    log_file = open("log", O_WRONLY | O_APPEND);
    streams();
    processes(argv[0]);
    cancellation();
    for (int descriptor = 0; descriptor < 1024; descriptor++) /* as daemons do */
        if (descriptor != 1)
            close(descriptor);
    TELL(open("last", O_WRONLY | O_CREAT, 0644));
    TELL(write(0, "last", 4));
    return 0;
}
