/* SPDX-License-Identifier: Apache-2.0 */
/* See sha256.h. */
#include "sha256.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fail.h"
#include "memory.h"

enum { READ_BYTES = 1 << 18 };

static void require(int succeeded)
{
    if (succeeded != 1)
        fail("libcrypto cannot compute SHA-256; install another version of OpenSSL");
}

EVP_MD_CTX *sha256_begin(void)
{
    /* Without OpenSSL's configuration file, which may load further libraries into the program that is measured. */
    require(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL));
    EVP_MD_CTX *sha256 = EVP_MD_CTX_new();
    require(sha256 && EVP_DigestInit_ex(sha256, EVP_sha256(), NULL) == 1);
    return sha256;
}

void sha256_add(EVP_MD_CTX *sha256, const void *data, size_t bytes)
{
    require(EVP_DigestUpdate(sha256, data, bytes));
}

void sha256_end(EVP_MD_CTX *sha256, char hex[SHA256_HEX_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    require(EVP_DigestFinal_ex(sha256, digest, &bytes));
    EVP_MD_CTX_free(sha256);
    for (unsigned i = 0; i < bytes; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
}

bool sha256_of_file(const char *path, char hex[SHA256_HEX_BYTES])
{
    ssize_t bytes;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    char *content = allocate(READ_BYTES, 1);
    EVP_MD_CTX *sha256 = sha256_begin();
    while ((bytes = read(file, content, READ_BYTES)) > 0)
        sha256_add(sha256, content, (size_t)bytes);
    free(content);
    close(file);
    sha256_end(sha256, hex);
    return bytes == 0;
}
