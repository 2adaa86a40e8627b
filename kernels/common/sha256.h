/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for hashes in the log. Own code because none of the kernels' libraries has it on every machine;
 * test_sha256.c compares it with the standard's examples and with sha256sum. */
#ifndef COFFEECUP_SHA256_H
#define COFFEECUP_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK_BYTES = 64, SHA256_HEX_BYTES = 65 };

struct sha256 {
    void (*compress)(uint32_t state[8], const unsigned char block[SHA256_BLOCK_BYTES]);
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[SHA256_BLOCK_BYTES];
};

/* Chooses the processor's instructions for SHA-256 where it has them. */
void sha256_begin(struct sha256 *sha256);
void sha256_add(struct sha256 *sha256, const void *data, size_t bytes);

/* The hash as 64 lower-case hexadecimal digits and a terminator. */
void sha256_end(struct sha256 *sha256, char hex[SHA256_HEX_BYTES]);

/* A block by C alone. */
void sha256_compress(uint32_t state[8], const unsigned char block[SHA256_BLOCK_BYTES]);

/* The hash of a file's content; false if it cannot be read. */
bool sha256_of_file(const char *path, char hex[SHA256_HEX_BYTES]);

#endif
