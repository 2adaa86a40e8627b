/* SPDX-License-Identifier: Apache-2.0 */
/* See input_file.h. */
#include "input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *input_open(const char *path, int64_t most_bytes, const char **why)
{
    static char too_large[64];
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would block */
    *why = NULL;
    if (file < 0) {
        *why = strerror(errno);
        return NULL;
    }
    if (fstat(file, &status) != 0) {
        *why = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        *why = "not a regular file";
    } else if (status.st_size > most_bytes) {
        snprintf(too_large, sizeof too_large, "larger than %" PRId64 " bytes", most_bytes);
        *why = too_large;
    }
    FILE *opened = *why ? NULL : fdopen(file, "r");
    if (opened)
        return opened;
    if (!*why)
        *why = strerror(errno);
    close(file);
    return NULL;
}

const char *input_read(const char *path, size_t most_bytes, char *text, size_t *bytes)
{
    const char *why;
    FILE *file = input_open(path, (int64_t)most_bytes, &why);
    *bytes = file ? fread(text, 1, most_bytes, file) : 0;
    if (file && ferror(file))
        why = strerror(errno);
    if (file)
        fclose(file);
    return why;
}

bool input_find_included(const char *const *places, const char *file, char path[PATH_MAX])
{
    char program[PATH_MAX], candidate[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (; *places; places++)
        if (snprintf(candidate, sizeof candidate, "%s/%s/%s", program, *places, file) < (int)sizeof candidate &&
            access(candidate, R_OK) == 0) {
            memcpy(path, candidate, sizeof candidate);
            return true;
        }
    return false;
}
