/* SPDX-License-Identifier: Apache-2.0 */
/* See node_groups.h. */
#include "node_groups.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "input_file.h"
#include "record.h"

enum { REASON_LENGTH = 1024, WORD_LENGTH = 256, MOST_BYTES = 64 << 20 };

/* NODE to GROUP, of all lines; a sentence in `reason` if the file is no such list. */
static json_t *read_lines(const char *path, char reason[REASON_LENGTH])
{
    const char *why;
    FILE *file = input_open(path, MOST_BYTES, &why);
    char *line = NULL, node[WORD_LENGTH + 1], group[WORD_LENGTH + 1], more[2];
    size_t room = 0;
    json_t *groups = json_object();
    if (!file)
        snprintf(reason, REASON_LENGTH, "cannot read --node-groups '%s': %s; name a file with lines 'NODE GROUP'", path,
                 why);
    for (int number = 1; file && !reason[0] && getline(&line, &room, file) > 0; number++) {
        line[strcspn(line, "#")] = '\0';
        const int words = sscanf(line, "%256s %256s %1s", node, group, more);
        if (words > 0 && words != 2)
            snprintf(reason, REASON_LENGTH, "--node-groups '%s': line %d is not 'NODE GROUP'", path, number);
        else if (words > 0 && json_object_get(groups, node))
            snprintf(reason, REASON_LENGTH, "--node-groups '%s': line %d names a group of '%s' again; remove the line",
                     path, number, node);
        else if (words > 0)
            json_object_set_new(groups, node, text_json(group));
    }
    free(line);
    if (file)
        fclose(file);
    return groups;
}

/* Numbers the groups of the hosts in the order of the nodes. Returns NODE to GROUP of the hosts. */
static json_t *number_groups(struct nodes *nodes, const char *path, const json_t *hosts, char reason[REASON_LENGTH])
{
    json_t *lines = read_lines(path, reason), *numbers = json_object(), *groups = json_object();
    for (int node = 0; node < nodes->count && !reason[0]; node++) {
        const char *name = json_string_value(json_object_get(json_array_get(hosts, (size_t)node), "name"));
        const char *group = json_string_value(json_object_get(lines, name));
        if (!group) {
            snprintf(reason, REASON_LENGTH, "--node-groups '%s' names no group of the node '%s'; add a line", path,
                     name);
            break;
        }
        if (!json_object_get(numbers, group))
            json_object_set_new(numbers, group, json_integer((json_int_t)json_object_size(numbers)));
        nodes->group[node] = (int)json_integer_value(json_object_get(numbers, group));
        json_object_set_new(groups, name, json_string(group));
    }
    nodes->groups = (int)json_object_size(numbers);
    json_decref(numbers);
    json_decref(lines);
    return groups;
}

json_t *nodes_read_groups(struct nodes *nodes, const char *path, const json_t *hosts)
{
    char reason[REASON_LENGTH] = "";
    json_t *groups = hosts ? number_groups(nodes, path, hosts, reason) : NULL;
    MPI_CHECK(MPI_Bcast(reason, sizeof reason, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (reason[0])
        refuse("%s", reason);
    MPI_CHECK(MPI_Bcast(&nodes->groups, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(nodes->group, nodes->count, MPI_INT, 0, MPI_COMM_WORLD));
    nodes->named = true;
    return groups;
}
