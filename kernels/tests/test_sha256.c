/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: an example of NIST (FIPS 180-4) in pieces, and files below and above the piece that is read at once, against
 * sha256sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "sha256.h"

static void a_million_letters_in_pieces(void)
{
    char letters[1000], hex[SHA256_HEX_BYTES];
    memset(letters, 'a', sizeof letters);
    EVP_MD_CTX *sha256 = sha256_begin();
    for (size_t left = 1000000, piece = 1; left > 0; left -= piece, piece = piece % 997 + 1) {
        piece = piece < left ? piece : left;
        sha256_add(sha256, letters, piece);
    }
    sha256_end(sha256, hex);
    CHECK(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0, "%s", hex);
}

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
    a_million_letters_in_pieces();
    files_have_the_hash_that_sha256sum_prints();
    return checks_status();
}
