/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads that read from one file at the same time: each once before all of them have arrived, and once after. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8, BLOCK = 4096 };

static int file;
static pthread_barrier_t all;

static void *work(void *number)
{
    const long mine = (long)number;
    char block[BLOCK];
    if (pread(file, block, BLOCK, 2 * mine * BLOCK) != BLOCK)
        return "pread";
    pthread_barrier_wait(&all);
    if (pread(file, block, BLOCK, (2 * mine + 1) * BLOCK) != BLOCK)
        return "pread";
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    int failed = 0;
    void *problem;
    file = open("data", O_RDONLY);
    pthread_barrier_init(&all, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &problem);
        failed |= problem != NULL;
    }
    return failed || close(file) != 0;
}
