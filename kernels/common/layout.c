/* SPDX-License-Identifier: Apache-2.0 */
/* See layout.h. The attribute, as the posix and cluster translators of GlusterFS write it:
 * (<DISTRIBUTE:VOLUME-dht> (<REPLICATE:VOLUME-replicate-0> <POSIX(BRICK):HOST:PATH> <POSIX(BRICK):HOST:PATH>)) */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fail.h"
#include "memory.h"
#include "process_times.h"

static const char brick_begins[] = "<POSIX(";

void bricks_of(const char *pathinfo, char server[SERVER_BYTES])
{
    size_t used = 0;
    server[0] = '\0';
    for (const char *brick = strstr(pathinfo, brick_begins); brick; brick = strstr(brick, brick_begins)) {
        brick += strlen(brick_begins);
        const char *closed = strstr(brick, "):"), *host = closed ? closed + 2 : NULL,
                   *end = host ? strchr(host, ':') : NULL;
        const int written = end ? snprintf(server + used, SERVER_BYTES - used, "%s%.*s:%.*s", used ? " " : "",
                                           (int)(end - host), host, (int)(closed - brick), brick)
                                : SERVER_BYTES;
        used += (size_t)written;
        if (used >= SERVER_BYTES) {
            server[0] = '\0';
            return;
        }
    }
}

void file_server(const char *path, char server[SERVER_BYTES])
{
    char info[1 << 13];
    const ssize_t bytes = getxattr(path, "glusterfs.pathinfo", info, sizeof info - 1);
    info[bytes > 0 ? bytes : 0] = '\0';
    bricks_of(info, server);
}

static int place_of(json_t *servers, const char *server)
{
    size_t place = 0;
    while (place < json_array_size(servers) && strcmp(json_string_value(json_array_get(servers, place)), server) != 0)
        place++;
    if (place == json_array_size(servers))
        json_array_append_new(servers, text_json(server));
    return (int)place;
}

json_t *layout_json(const struct run *run, MPI_Comm comm, const char server[SERVER_BYTES])
{
    int rank, ranks;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    int known = server[0] != '\0' && strcmp(process_resolution(run), "process") == 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, comm));
    if (!known)
        return NULL;
    char (*all)[SERVER_BYTES] = rank == 0 ? allocate((size_t)ranks, sizeof *all) : NULL;
    MPI_CHECK(MPI_Gather(server, SERVER_BYTES, MPI_CHAR, all, SERVER_BYTES, MPI_CHAR, 0, comm));
    if (!all)
        return NULL;
    json_t *servers = json_array(), *files = json_array();
    for (int place = 0; place < ranks; place++)
        json_array_append_new(files, json_integer(place_of(servers, all[place])));
    free(all);
    return json_pack("{s:o, s:o}", "servers", servers, "files", files);
}
