/* SPDX-License-Identifier: Apache-2.0 */
/* Calls inside libc's streams (fread, printf) do not reach preloaded functions. They use a table of functions that libc
 * exports for the C++ library, and in glibc its rows for read, write, seek and close are libc's exported functions. If
 * that is the case, these four rows are replaced. See recorder.h. */
#include "recorder.h"

#include <dlfcn.h>
#include <sys/mman.h>

enum { ROW_READ = 14, ROW_WRITE, ROW_SEEK, ROW_CLOSE, ROWS };

static ssize_t (*next_read)(FILE *, void *, ssize_t);
static ssize_t (*next_write)(FILE *, const void *, ssize_t);
static off_t (*next_seek)(FILE *, off_t, int);
static int (*next_close)(FILE *);

/* Before fopen() returns, the file has no handle: a seek to its end (mode "a") is recorded afterwards. */
static _Thread_local struct {
    bool active, sought;
    struct call call;
    off_t offset, result;
    int whence;
} opening;

static ssize_t stream_read(FILE *stream, void *data, ssize_t bytes)
{
    const int descriptor = fileno_unlocked(stream);
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "read", descriptor, AT_POINTER, (size_t)bytes, next_read(stream, data, bytes));
}

static ssize_t stream_write(FILE *stream, const void *data, ssize_t bytes)
{
    const int descriptor = fileno_unlocked(stream);
    const struct call call = call_begin(descriptor);
    return call_done_transfer(&call, "write", descriptor, AT_POINTER, (size_t)bytes, next_write(stream, data, bytes));
}

static off_t stream_seek(FILE *stream, off_t offset, int whence)
{
    const struct call call = opening.active ? call_begin_open() : call_begin(fileno_unlocked(stream));
    const off_t result = next_seek(stream, offset, whence);
    if (opening.active) {
        opening.sought = true;
        opening.call = call;
        opening.offset = offset;
        opening.whence = whence;
        opening.result = result;
    } else {
        call_done_seek(&call, offset, whence, result);
    }
    return result;
}

static int stream_close(FILE *stream)
{
    const struct call call = call_begin_close(fileno_unlocked(stream));
    return call_done(&call, "close", next_close(stream));
}

void streams_opening(void)
{
    opening.active = true;
    opening.sought = false;
}

void streams_opened(int descriptor)
{
    opening.active = false;
    if (opening.sought && recording()) {
        opening.call.handle = handle_known(descriptor);
        call_done_seek(&opening.call, opening.offset, opening.whence, opening.result);
    }
}

static bool replace_rows(const char *name)
{
    void **table = dlsym(RTLD_DEFAULT, name);
    void *const expected[] = {*(void **)&next_read, *(void **)&next_write, *(void **)&next_seek, *(void **)&next_close};
    void *const ours[] = {(void *)stream_read, (void *)stream_write, (void *)stream_seek, (void *)stream_close};
    if (!table)
        return false;
    for (int i = 0; i < ROWS - ROW_READ; i++)
        if (!expected[i] || table[ROW_READ + i] != expected[i])
            return false;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const begin = (char *)((size_t)(table + ROW_READ) / page * page);
    const size_t bytes = (size_t)((char *)(table + ROWS) - begin);
    if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    for (int i = 0; i < ROWS - ROW_READ; i++)
        table[ROW_READ + i] = ours[i];
    return mprotect(begin, bytes, PROT_READ) == 0;
}

bool streams_watch(void)
{
    *(void **)&next_read = dlsym(RTLD_DEFAULT, "_IO_file_read");
    *(void **)&next_write = dlsym(RTLD_DEFAULT, "_IO_file_write");
    *(void **)&next_seek = dlsym(RTLD_DEFAULT, "_IO_file_seek");
    *(void **)&next_close = dlsym(RTLD_DEFAULT, "_IO_file_close");
    const bool narrow = replace_rows("_IO_file_jumps"), wide = replace_rows("_IO_wfile_jumps");
    return narrow && wide;
}
