/* SPDX-License-Identifier: Apache-2.0 */
/* The check of received bytes: every kind of error is detected, at every place and alignment of the message. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data.h"

enum { LARGE = 3 * 4096 + 77 };
static char buffer[LARGE + 64], expected[LARGE + 64];
static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 127, 128, 1000, 4095, 4096, 4097, LARGE};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static const uint64_t positions[] = {0, 1, 2, 3, 4, 63, 64, 4093, 4096, UINT64_C(1) << 31, (UINT64_C(1) << 34) - 3};
enum { POSITIONS = sizeof positions / sizeof positions[0] };

static void right_data_pass_and_lie_anywhere(void)
{
    for (int s = 0; s < SIZES; s++)
        for (int p = 0; p < POSITIONS; p++)
            for (size_t alignment = 0; alignment < 5; alignment++) {
                size_t first;
                data_fill(buffer + alignment, sizes[s], 17, positions[p]);
                CHECK(data_count_wrong(buffer + alignment, sizes[s], 17, positions[p], &first) == 0,
                      "%zu byte at position %ld, alignment %zu", sizes[s], (long)positions[p], alignment);
            }
}

/* The content is a function of the position, whatever pieces it is filled in. */
static void content_does_not_depend_on_the_pieces(void)
{
    data_fill(expected, LARGE, 5, 1000);
    for (size_t piece = 1; piece < 300; piece += 37) {
        for (size_t done = 0; done < LARGE; done += piece)
            data_fill(buffer + done, LARGE - done < piece ? LARGE - done : piece, 5, 1000 + done);
        CHECK(memcmp(buffer, expected, LARGE) == 0, "pieces of %zu byte", piece);
    }
    for (size_t start = 0; start < 200; start++) {
        size_t first;
        CHECK(data_count_wrong(expected + start, LARGE - start, 5, 1000 + start, &first) == 0, "from %zu on", start);
    }
}

static void fill_writes_no_byte_beside_its_own(void)
{
    for (int s = 0; s < SIZES; s++) {
        memset(buffer, 0x33, sizeof buffer);
        data_fill(buffer + 3, sizes[s], 1, 1);
        CHECK(buffer[2] == 0x33 && buffer[3 + sizes[s]] == 0x33, "%zu byte", sizes[s]);
    }
}

/* Every byte of every size, every bit of it, at an even and at an odd place. */
static void any_flipped_bit_is_found_where_it_is(void)
{
    for (int s = 0; s < SIZES; s++)
        for (uint64_t position = 0; position < 130; position += 65) {
            data_fill(buffer, sizes[s], 3, position);
            for (size_t at = 0; at < sizes[s]; at++) {
                size_t first;
                buffer[at] ^= (char)(1 << at % 8);
                const size_t wrong = data_count_wrong(buffer, sizes[s], 3, position, &first);
                CHECK(wrong == 1 && first == at, "%zu byte, byte %zu: %zu wrong, first %zu", sizes[s], at, wrong,
                      first);
                buffer[at] ^= (char)(1 << at % 8);
            }
        }
}

static void several_wrong_bytes_are_counted(void)
{
    size_t first;
    data_fill(buffer, LARGE, 9, 64);
    for (size_t at = 5000; at < 5100; at++)
        buffer[at] ^= 0x55;
    buffer[LARGE - 1] ^= 1;
    CHECK(data_count_wrong(buffer, LARGE, 9, 64, &first) == 101 && first == 5000, "first %zu", first);
}

/* At the same position no word of 4 byte is the same for two senders. */
static void data_of_another_sender_are_found(void)
{
    for (uint32_t source = 0; source < 200; source++) {
        size_t first;
        data_fill(buffer, 4096, source, 128);
        for (uint32_t other = 0; other < 200; other++)
            CHECK(other == source || data_count_wrong(buffer, 4096, other, 128, &first) >= 1024, "%u taken for %u",
                  source, other);
    }
}

static void data_of_another_place_are_found(void)
{
    for (int64_t shift = -4096; shift <= 4096; shift++) {
        size_t first;
        if (shift == 0)
            continue;
        data_fill(buffer, 4096, 2, (uint64_t)(8192 + shift));
        CHECK(data_count_wrong(buffer, 4096, 2, 8192, &first) >= 1024, "shifted by %ld", (long)shift);
    }
}

static void memory_that_was_never_received_is_found(void)
{
    const int fillings[] = {0, 0xff, 0x5a};
    for (int i = 0; i < 3; i++) {
        size_t first;
        memset(buffer, fillings[i], LARGE);
        CHECK(data_count_wrong(buffer, LARGE, 0, 0, &first) > LARGE * 9 / 10, "filled with %d", fillings[i]);
    }
}

/* All values of a byte are about equally frequent, so that short messages differ as much as possible. */
static void bytes_are_evenly_distributed(void)
{
    enum { BYTES = 1 << 20 };
    char *many = malloc(BYTES);
    long found[256] = {0};
    data_fill(many, BYTES, 1, 0);
    for (size_t i = 0; i < BYTES; i++)
        found[(unsigned char)many[i]]++;
    for (int value = 0; value < 256; value++)
        CHECK(labs(found[value] - BYTES / 256) < BYTES / 256 / 4, "value %d occurs %ld times", value, found[value]);
    free(many);
}

int main(void)
{
    right_data_pass_and_lie_anywhere();
    content_does_not_depend_on_the_pieces();
    fill_writes_no_byte_beside_its_own();
    any_flipped_bit_is_found_where_it_is();
    several_wrong_bytes_are_counted();
    data_of_another_sender_are_found();
    data_of_another_place_are_found();
    memory_that_was_never_received_is_found();
    bytes_are_evenly_distributed();
    return checks_status();
}
