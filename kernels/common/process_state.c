/* SPDX-License-Identifier: Apache-2.0 */
/* See process_state.h. */
#include "process_state.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "first_line.h"

enum { PROC_PATH = 64 };

/* `folder` is that of a process below /proc, or of its thread. */
static char letter_in(const char *folder)
{
    char line[512], letter = 'X';
    read_first_line(line, sizeof line, "%s/stat", folder);
    const char *name_end = strrchr(line, ')');
    return name_end && sscanf(name_end + 1, " %c", &letter) == 1 ? letter : 'X';
}

char process_letter(pid_t process)
{
    char folder[PROC_PATH];
    snprintf(folder, sizeof folder, "/proc/%d", (int)process);
    return letter_in(folder);
}

/* I: clients of some file systems. */
bool is_in_kernel(char letter)
{
    return letter == 'D' || letter == 'I';
}

static void find_waiting(pid_t process, char folder[PROC_PATH])
{
    char tasks[PROC_PATH];
    snprintf(tasks, sizeof tasks, "/proc/%d/task", (int)process);
    snprintf(folder, PROC_PATH, "/proc/%d", (int)process);
    DIR *entries = opendir(tasks);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char thread[PROC_PATH];
        if (snprintf(thread, sizeof thread, "%s/%s", tasks, entry->d_name) < (int)sizeof thread &&
            is_in_kernel(letter_in(thread)))
            snprintf(folder, PROC_PATH, "%s", thread);
    }
    closedir(entries);
}

static const char *name_of(char letter)
{
    static const struct {
        char letter;
        const char *name;
    } known[] = {{'R', "running"}, {'S', "sleeping"}, {'T', "stopped"}, {'t', "traced"}, {'X', "gone"}};
    if (is_in_kernel(letter))
        return "in the kernel";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].letter == letter)
            return known[i].name;
    return "zombie";
}

struct process_state process_state(pid_t process)
{
    char folder[PROC_PATH];
    struct process_state state;
    find_waiting(process, folder);
    state.name = name_of(letter_in(folder));
    read_first_line(state.function, sizeof state.function, "%s/wchan", folder);
    if (strcmp(state.function, "0") == 0)
        state.function[0] = '\0';
    return state;
}

bool process_has_rank(pid_t process)
{
    static const char *const names[] = {"PMIX_RANK=", "PMI_RANK="};
    char path[64], *entry = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    while (!found && getdelim(&entry, &room, '\0', file) > 0)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            found |= strncmp(entry, names[i], strlen(names[i])) == 0;
    free(entry);
    fclose(file);
    return found;
}

static pid_t parent_of(pid_t process)
{
    char line[512];
    int parent = 0;
    read_first_line(line, sizeof line, "/proc/%d/stat", (int)process);
    const char *name_end = strrchr(line, ')');
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Whether the name of the program begins like this; a script has that of its shell. */
static bool runs(pid_t process, const char *name)
{
    char path[PROC_PATH], program[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process);
    const ssize_t bytes = readlink(path, program, sizeof program - 1);
    program[bytes > 0 ? bytes : 0] = '\0';
    const char *slash = strrchr(program, '/');
    return slash && strncmp(slash + 1, name, strlen(name)) == 0;
}

pid_t process_mpiexec(pid_t launcher)
{
    pid_t starter = parent_of(launcher);
    while (starter > 1 && runs(starter, "hydra"))
        starter = parent_of(starter);
    return starter > 1 && (runs(starter, "mpiexec") || runs(starter, "mpirun")) ? starter : 0;
}
