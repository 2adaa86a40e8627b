/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads on one file, each in its own part: written and read by explicit offsets; then each a file of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 200, BLOCK = 3000 };

static int common;

static void *work(void *number)
{
    const long mine = (long)number;
    char block[BLOCK], name[16];
    for (int i = 0; i < BLOCK; i++)
        block[i] = (char)('a' + mine);
    for (int i = 0; i < BLOCKS; i++)
        if (pwrite(common, block, sizeof block, (mine * BLOCKS + i) * (off_t)BLOCK) != BLOCK)
            return "pwrite";
    for (int i = BLOCKS - 1; i >= 0; i--)
        if (pread(common, block, sizeof block, (mine * BLOCKS + i) * (off_t)BLOCK) != BLOCK || block[7] != 'a' + mine)
            return "pread";
    snprintf(name, sizeof name, "own-%ld", mine);
    for (int i = 0; i < BLOCKS; i++) {
        const int own = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (write(own, block, (size_t)(i + mine)) != i + mine || close(own) != 0)
            return "write";
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    void *problem;
    common = open("common", O_RDWR | O_CREAT, 0644);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &problem);
        if (problem)
            return 1;
    }
    return fsync(common) != 0;
}
