/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: the examples of NIST (FIPS 180-4 and the CAVP), and files of all lengths around a block against sha256sum;
 * by the processor's instructions, if it has them, and by C alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "sha256.h"

static void begin(struct sha256 *sha256, bool by_c)
{
    sha256_begin(sha256);
    if (by_c)
        sha256->compress = sha256_compress;
}

static void examples_of_the_standard(bool by_c)
{
    static const struct {
        const char *text, *hex;
    } examples[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsm"
                     "nopqrstnopqrs"
                     "tu",
                     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct sha256 sha256;
        char hex[SHA256_HEX_BYTES];
        begin(&sha256, by_c);
        sha256_add(&sha256, examples[i].text, strlen(examples[i].text));
        sha256_end(&sha256, hex);
        CHECK(strcmp(hex, examples[i].hex) == 0, "\"%s\": %s", examples[i].text, hex);
    }
}

/* In pieces that end anywhere in a block. */
static void a_million_letters_in_pieces(bool by_c)
{
    struct sha256 sha256;
    char letters[1000], hex[SHA256_HEX_BYTES];
    memset(letters, 'a', sizeof letters);
    begin(&sha256, by_c);
    for (size_t left = 1000000, piece = 1; left > 0; left -= piece, piece = piece % 997 + 1) {
        piece = piece < left ? piece : left;
        sha256_add(&sha256, letters, piece);
    }
    sha256_end(&sha256, hex);
    CHECK(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0, "%s", hex);
}

static void files_have_the_hash_that_sha256sum_prints(void)
{
    char path[] = "/tmp/test_sha256_XXXXXX", command[64], expected[SHA256_HEX_BYTES], hex[SHA256_HEX_BYTES];
    const int file = mkstemp(path);
    snprintf(command, sizeof command, "sha256sum %s", path);
    for (int bytes = 0; bytes <= 130; bytes++) {
        FILE *sum = popen(command, "r");
        CHECK(sum && fscanf(sum, "%64s", expected) == 1, "sha256sum");
        if (sum)
            pclose(sum);
        CHECK(sha256_of_file(path, hex) && strcmp(hex, expected) == 0, "%d byte: %s, not %s", bytes, hex, expected);
        CHECK(write(file, &bytes, 1) == 1, "writing");
    }
    close(file);
    unlink(path);
    CHECK(!sha256_of_file(path, hex), "a file that does not exist");
}

int main(void)
{
    for (int by_c = 0; by_c < 2; by_c++) {
        examples_of_the_standard(by_c);
        a_million_letters_in_pieces(by_c);
    }
    files_have_the_hash_that_sha256sum_prints();
    return checks_status();
}
