/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of files below and above the piece that is read at once, against sha256sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "sha256.h"

static void files_have_the_hash_that_sha256sum_prints(void)
{
    char path[] = "/tmp/test_sha256_XXXXXX", command[64], expected[SHA256_HEX_BYTES], hex[SHA256_HEX_BYTES];
    const int file = mkstemp(path);
    snprintf(command, sizeof command, "sha256sum %s", path);
    for (int bytes = 0; bytes <= 600000; bytes += 200000) {
        CHECK(ftruncate(file, bytes) == 0, "writing");
        FILE *sum = popen(command, "r");
        CHECK(sum && fscanf(sum, "%64s", expected) == 1, "sha256sum");
        if (sum)
            pclose(sum);
        CHECK(sha256_of_file(path, hex) && strcmp(hex, expected) == 0, "%d byte: %s, not %s", bytes, hex, expected);
    }
    close(file);
    unlink(path);
    CHECK(!sha256_of_file(path, hex), "a file that does not exist");
}

int main(void)
{
    files_have_the_hash_that_sha256sum_prints();
    return checks_status();
}
