/* SPDX-License-Identifier: Apache-2.0 */
/* See sha256.h. The names are those of FIPS 180-4, section 6.2. */
#include "sha256.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__NVCOMPILER)
#include <cpuid.h>
#include <immintrin.h>
#define HAS_INSTRUCTIONS 1
#endif

enum { ROUNDS = 64, LENGTH_BYTES = 8, READ_BYTES = 1 << 18 };

static const uint32_t k[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static void schedule(const unsigned char *block, uint32_t w[ROUNDS])
{
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               (uint32_t)block[4 * t + 3];
    for (int t = 16; t < ROUNDS; t++)
        w[t] = (rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
               (rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
}

void sha256_compress(uint32_t state[8], const unsigned char block[SHA256_BLOCK_BYTES])
{
    uint32_t w[ROUNDS];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    schedule(block, w);
    for (int t = 0; t < ROUNDS; t++) {
        const uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + k[t] + w[t];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += sum[i];
}

#ifdef HAS_INSTRUCTIONS
/* Before a run begins, its processes wait until one of each node has hashed all libraries, 50 MByte of Debian's Open
 * MPI: a quarter of a second by C alone, an eighth of that so. Four words of w in each vector; sha256rnds2 does two
 * rounds with the state as (a, b, e, f) and (c, d, g, h). */
__attribute__((target("sha,sse4.1"))) static void
compress_by_instructions(uint32_t state[8], const unsigned char block[SHA256_BLOCK_BYTES])
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[ROUNDS / 4];
    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * (size_t)i)), big_endian);
    for (int i = 4; i < ROUNDS / 4; i++)
        w[i] = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]), _mm_alignr_epi8(w[i - 1], w[i - 2], 4)), w[i - 1]);
    const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    const __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    __m128i one = abef, other = cdgh;
    for (int i = 0; i < ROUNDS / 4; i++) {
        const __m128i sum = _mm_add_epi32(w[i], _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * (size_t)i)));
        other = _mm_sha256rnds2_epu32(other, one, sum);
        one = _mm_sha256rnds2_epu32(one, other, _mm_shuffle_epi32(sum, 0x0e));
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(one, abef), 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(other, cdgh), 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static bool has_instructions(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}
#endif

void sha256_begin(struct sha256 *sha256)
{
    *sha256 = (struct sha256){
        .compress = sha256_compress,
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
#ifdef HAS_INSTRUCTIONS
    if (has_instructions())
        sha256->compress = compress_by_instructions;
#endif
}

void sha256_add(struct sha256 *sha256, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    size_t filled = sha256->bytes % SHA256_BLOCK_BYTES;
    sha256->bytes += bytes;
    while (filled + bytes >= SHA256_BLOCK_BYTES) {
        const size_t part = SHA256_BLOCK_BYTES - filled;
        memcpy(sha256->block + filled, from, part);
        sha256->compress(sha256->state, sha256->block);
        from += part;
        bytes -= part;
        filled = 0;
    }
    if (bytes > 0)
        memcpy(sha256->block + filled, from, bytes);
}

void sha256_end(struct sha256 *sha256, char hex[SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t bits = 8 * sha256->bytes;
    const size_t filled = sha256->bytes % SHA256_BLOCK_BYTES, least = 1 + LENGTH_BYTES;
    const size_t bytes = (filled + least > SHA256_BLOCK_BYTES ? 2 : 1) * SHA256_BLOCK_BYTES - filled;
    unsigned char padding[2 * SHA256_BLOCK_BYTES] = {0x80};
    for (int i = 0; i < LENGTH_BYTES; i++)
        padding[bytes - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
    sha256_add(sha256, padding, bytes);
    for (int i = 0; i < SHA256_HEX_BYTES - 1; i++)
        hex[i] = digits[sha256->state[i / 8] >> (28 - i % 8 * 4) & 15];
    hex[SHA256_HEX_BYTES - 1] = '\0';
}

bool sha256_of_file(const char *path, char hex[SHA256_HEX_BYTES])
{
    struct sha256 sha256;
    ssize_t bytes;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    char *content = allocate(READ_BYTES, 1);
    sha256_begin(&sha256);
    while ((bytes = read(file, content, READ_BYTES)) > 0)
        sha256_add(&sha256, content, (size_t)bytes);
    free(content);
    close(file);
    sha256_end(&sha256, hex);
    return bytes == 0;
}
