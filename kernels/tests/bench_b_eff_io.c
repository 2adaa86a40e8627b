/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of b_eff_io as plain loops of MPI-I/O calls, without agreements, data or checks, with which
 * bench_b_eff_io.py compares the kernel. Arguments: a directory, then "type:l:L:calls" in the order of the patterns.
 * Prints "seconds" of the slowest process for write, rewrite and read of each as one JSON list. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCATTER, SHARED, SEPARATE, SEGMENTED, SEGMENTED_COLLECTIVE, WRITE = 0, READ = 2, PERIOD_BYTES = 4099 * 4096 };

static int rank, ranks;

struct plain {
    long type, chunk, call, calls, start;
};

static void one_call(const struct plain *p, MPI_File file, char *data, int reads)
{
    const int count = (int)p->call;
    if (p->type == SCATTER || p->type == SEGMENTED_COLLECTIVE)
        reads ? MPI_File_read_all(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_write_all(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (p->type == SHARED)
        reads ? MPI_File_read_ordered(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_write_ordered(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        reads ? MPI_File_read(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_write(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
}

/* The walk is that of b_eff_io: it starts over after PERIOD_BYTES, wherever a call ends. */
static double run(const struct plain *p, MPI_File file, char *buffer, int reads)
{
    MPI_Datatype chunk, view = MPI_DATATYPE_NULL;
    long place = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (p->type == SCATTER) {
        MPI_Type_contiguous((int)p->chunk, MPI_BYTE, &chunk);
        MPI_Type_create_resized(chunk, 0, p->chunk * ranks, &view);
        MPI_Type_commit(&view);
        MPI_File_set_view(file, p->start + rank * p->chunk, MPI_BYTE, view, "native", MPI_INFO_NULL);
        MPI_Type_free(&chunk);
        MPI_Type_free(&view);
    } else if (p->type != SHARED) {
        MPI_File_seek(file, p->start, MPI_SEEK_SET);
    }
    for (long i = 0; i < p->calls; i++) {
        one_call(p, file, buffer + place, reads);
        place = (place + p->call) % PERIOD_BYTES;
    }
    if (!reads)
        MPI_File_sync(file);
    double mine = MPI_Wtime() - start, slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* From words "type:chunk:call:calls"; returns the largest call. */
static long read_plan(char **words, int count, struct plain *list)
{
    long largest = 0, used = 0;
    for (int i = 0; i < count; i++) {
        struct plain *p = &list[i];
        if (sscanf(words[i], "%ld:%ld:%ld:%ld", &p->type, &p->chunk, &p->call, &p->calls) != 4)
            MPI_Abort(MPI_COMM_WORLD, 2);
        used = i > 0 && list[i - 1].type == p->type ? used : 0;
        p->start = used;
        used += p->call * p->calls * (p->type <= SHARED ? ranks : 1);
        largest = p->call > largest ? p->call : largest;
    }
    for (int i = 0; i < count; i++) { /* segments follow each other */
        long segment = 0;
        for (int k = 0; k < count; k++)
            segment += list[k].type == list[i].type ? list[k].call * list[k].calls : 0;
        if (list[i].type >= SEGMENTED)
            list[i].start += rank * segment;
    }
    return largest;
}

int main(int argc, char **argv)
{
    static const int modes[] = {MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_MODE_WRONLY, MPI_MODE_RDONLY};
    static const char *const names[] = {"write", "rewrite", "read"};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int count = argc - 2;
    struct plain *list = calloc((size_t)count, sizeof *list);
    const long largest = read_plan(argv + 2, count, list);
    const size_t buffer_bytes = PERIOD_BYTES + (size_t)largest;
    char *buffer = malloc(buffer_bytes);
    memset(buffer, 1, buffer_bytes);
    for (int method = WRITE; method <= READ; method++) {
        MPI_File file;
        if (rank == 0)
            printf("%s\"%s\": [", method ? "], " : "{", names[method]);
        for (int i = 0; i < count; i++) {
            if (i == 0 || list[i - 1].type != list[i].type) {
                char path[4096];
                snprintf(path, sizeof path, "%s/plain-%ld-%d", argv[1], list[i].type,
                         list[i].type == SEPARATE ? rank : 0);
                MPI_File_open(list[i].type == SEPARATE ? MPI_COMM_SELF : MPI_COMM_WORLD, path, modes[method],
                              MPI_INFO_NULL, &file);
            }
            const double seconds = run(&list[i], file, buffer, method == READ);
            if (rank == 0)
                printf("%s%.9f", i ? ", " : "", seconds);
            if (i == count - 1 || list[i + 1].type != list[i].type)
                MPI_File_close(&file);
        }
    }
    if (rank == 0)
        printf("]}\n");
    free(buffer);
    free(list);
    MPI_Finalize();
    return 0;
}
