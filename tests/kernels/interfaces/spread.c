/* SPDX-License-Identifier: Apache-2.0 */
/* An interface from outside, written from priomark_interface.h alone: a file is a folder of pieces, read and written
 * without the page cache. It serves every sub-benchmark that accesses files. */
#define _GNU_SOURCE /* O_DIRECT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <priomark_interface.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16384, NAME_BYTES = PRIOMARK_PATH_BYTES + 300 };

static void fail(const struct priomark_file *file, const char *what)
{
    priomark_stop(file, what, "%s; check the folder", strerror(errno));
}

static void open_file(struct priomark_file *file, bool create)
{
    if (create && mkdir(file->path, 0700) != 0 && errno != EEXIST)
        fail(file, "create");
    file->descriptor = open(file->path, O_RDONLY | O_DIRECTORY);
    if (file->descriptor < 0)
        fail(file, "open");
}

/* Moves as much as lies in one piece. */
static int64_t move(struct priomark_file *file, char *data, int64_t bytes, int64_t offset, bool writes)
{
    char name[32];
    const int64_t within = offset % PIECE;
    bytes = bytes < PIECE - within ? bytes : PIECE - within;
    snprintf(name, sizeof name, "%lld", (long long)(offset / PIECE));
    const int piece = openat(file->descriptor, name, O_RDWR | O_DIRECT | (writes ? O_CREAT : 0), 0600);
    if (piece < 0)
        fail(file, writes ? "write" : "read");
    const ssize_t count =
        writes ? pwrite(piece, data, (size_t)bytes, within) : pread(piece, data, (size_t)bytes, within);
    if (count != bytes)
        fail(file, writes ? "write" : "read");
    close(piece);
    return bytes;
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    for (int64_t moved; bytes > 0; data += moved, bytes -= moved, offset += moved)
        moved = move(file, data, bytes, offset, false);
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    for (int64_t moved; bytes > 0; data += moved, bytes -= moved, offset += moved)
        moved = move(file, (char *)data, bytes, offset, true);
}

enum action { SYNC, REMOVE, COUNT };

/* Does this with each piece. Returns the number of failures, or of bytes; -1 if there is no folder. */
static int64_t each_piece(const struct priomark_file *file, enum action action)
{
    int64_t result = 0;
    char path[NAME_BYTES];
    DIR *folder = opendir(file->path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", file->path, entry->d_name);
        const int piece = open(path, O_RDWR);
        result += action == SYNC ? fsync(piece) != 0 : action == REMOVE ? unlink(path) != 0 : lseek(piece, 0, SEEK_END);
        close(piece);
    }
    return folder ? closedir(folder), result : -1;
}

static void sync_file(struct priomark_file *file)
{
    if (each_piece(file, SYNC) != 0)
        fail(file, "synchronise");
}

static void close_file(struct priomark_file *file)
{
    close(file->descriptor);
}

static void remove_file(const struct priomark_file *file)
{
    if (each_piece(file, REMOVE) >= 0 && rmdir(file->path) != 0)
        fail(file, "remove");
}

static const char *evict(const struct priomark_file *file)
{
    (void)file;
    return NULL; /* it never uses the page cache */
}

static int64_t stored_bytes(const struct priomark_file *file)
{
    return each_piece(file, COUNT);
}

static void start(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                  int64_t offset)
{
    if (operation == PRIOMARK_READ)
        read_block(file, data, bytes, offset);
    else
        write_block(file, data, bytes, offset);
}

static bool done(struct priomark_file *file)
{
    (void)file;
    return true;
}

static void finish(struct priomark_file *file)
{
    (void)file;
}

const struct priomark_interface priomark_interface = {.version = PRIOMARK_INTERFACE,
                                                      .name = "spread",
                                                      .summary = "folders of pieces",
                                                      .figure = PRIOMARK_RATE,
                                                      .direct = true,
                                                      .open = open_file,
                                                      .read = read_block,
                                                      .write = write_block,
                                                      .sync = sync_file,
                                                      .close = close_file,
                                                      .start = start,
                                                      .done = done,
                                                      .finish = finish,
                                                      .remove = remove_file,
                                                      .evict = evict,
                                                      .stored_bytes = stored_bytes};
