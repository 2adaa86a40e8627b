/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, for hashes in the log: OpenSSL's libcrypto, which has the instructions of all processors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

enum { SHA256_HEX_BYTES = 65 };

EVP_MD_CTX *sha256_begin(void);
void sha256_add(EVP_MD_CTX *sha256, const void *data, size_t bytes);

/* The hash as 64 lower-case hexadecimal digits and a terminator. Frees the state. */
void sha256_end(EVP_MD_CTX *sha256, char hex[SHA256_HEX_BYTES]);

/* The hash of a file's content; false if it cannot be read. */
bool sha256_of_file(const char *path, char hex[SHA256_HEX_BYTES]);
