/* SPDX-License-Identifier: Apache-2.0 */
/* See data.h. The content is a sequence of 32-bit words, word k = mix(seed(source) + k * odd constant): a few simple
 * operations per word, which compilers vectorise: checking every byte must not take longer than measuring.
 */
#include "data.h"

#include <stdbool.h>
#include <string.h>

enum { WORD = 4, BLOCK_WORDS = 1024, LANES = 16 };

static const uint32_t stride = 0x9E3779B1u; /* odd, so that no two words within 16 GiB come from the same state */

static uint32_t seed(uint32_t source)
{
    uint32_t x = source + 0x7F4A7C15u;
    x = (x ^ (x >> 16)) * 0x21F0AAADu;
    x = (x ^ (x >> 15)) * 0x735A2D97u;
    return x ^ (x >> 15);
}

static inline uint32_t mix(uint32_t x)
{
    return x ^ (x >> 15);
}

static void fill_words(uint32_t *words, size_t count, uint32_t state)
{
    for (size_t k = 0; k < count; k++)
        words[k] = mix(state + (uint32_t)k * stride);
}

/* j * stride as constants, because SSE2 has no 32-bit multiplication of vectors. */
#define OFFSET(j) ((j) * 0x9E3779B1u)
static const uint32_t lane_offset[LANES] = {OFFSET(0),  OFFSET(1),  OFFSET(2),  OFFSET(3), OFFSET(4),  OFFSET(5),
                                            OFFSET(6),  OFFSET(7),  OFFSET(8),  OFFSET(9), OFFSET(10), OFFSET(11),
                                            OFFSET(12), OFFSET(13), OFFSET(14), OFFSET(15)};

/* Whether data contains exactly these words: a fast check, which nearly always succeeds. Written so that compilers
 * vectorise it (20 GByte/s per core); whole blocks only, the caller checks the rest. */
static bool holds_blocks(const char *data, size_t blocks, uint32_t state)
{
    uint32_t difference[LANES] = {0}, any = 0;
    for (size_t b = 0; b < blocks; b++) {
        for (int j = 0; j < LANES; j++) {
            uint32_t word;
            memcpy(&word, data + j * WORD, WORD);
            difference[j] |= word ^ mix(state + lane_offset[j]);
        }
        data += LANES * WORD;
        state += OFFSET(LANES);
    }
    for (int j = 0; j < LANES; j++)
        any |= difference[j];
    return any == 0;
}

/* In blocks of words, the first of which may begin inside a word. */
void data_fill(char *data, size_t bytes, uint32_t source, uint64_t position)
{
    uint32_t words[BLOCK_WORDS];
    const uint32_t start = seed(source);
    for (size_t done = 0; done < bytes;) {
        uint64_t first = (position + done) / WORD;
        size_t skip = (position + done) % WORD;
        size_t count = bytes - done + skip < sizeof words ? bytes - done + skip : sizeof words;
        fill_words(words, (count + WORD - 1) / WORD, start + (uint32_t)first * stride);
        memcpy(data + done, (const char *)words + skip, count - skip);
        done += count - skip;
    }
}

static size_t count_different(const char *a, const char *b, size_t bytes, size_t offset, size_t *first_wrong)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i] && wrong++ == 0 && *first_wrong == SIZE_MAX)
            *first_wrong = offset + i;
    return wrong;
}

size_t data_count_wrong(const char *data, size_t bytes, uint32_t source, uint64_t position, size_t *first_wrong)
{
    char expected[BLOCK_WORDS * WORD];
    size_t wrong = 0, done = 0;
    const size_t blocks = position % WORD == 0 ? bytes / (LANES * WORD) : 0;
    *first_wrong = SIZE_MAX;
    if (holds_blocks(data, blocks, seed(source) + (uint32_t)(position / WORD) * stride))
        done = blocks * LANES * WORD;
    while (done < bytes) {
        size_t count = bytes - done < sizeof expected ? bytes - done : sizeof expected;
        data_fill(expected, count, source, position + done);
        if (memcmp(data + done, expected, count) != 0)
            wrong += count_different(data + done, expected, count, done, first_wrong);
        done += count;
    }
    return wrong;
}
