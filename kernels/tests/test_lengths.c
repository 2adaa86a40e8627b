/* SPDX-License-Identifier: Apache-2.0 */
/* The message lengths against the specification's example and against powers computed by square roots. */
#include <inttypes.h>
#include <math.h>

#include "check.h"
#include "lengths.h"

static const int64_t mib = INT64_C(1) << 20;

static void one_gibibyte_gives_the_specifications_lengths(void)
{
    const int64_t expected[] = {10624, 27554, 71468, 185364, 480774, 1246974, 3234251, 8388608};
    int64_t lengths[LENGTHS];
    const int64_t l_max = longest_message(1024 * mib);
    CHECK(l_max == 8 * mib, "%" PRId64, l_max);
    message_lengths(l_max, lengths);
    for (int k = 0; k < 13; k++)
        CHECK(lengths[k] == INT64_C(1) << k, "length %d is %" PRId64, k, lengths[k]);
    for (int k = 0; k < 8; k++)
        CHECK(lengths[13 + k] == expected[k], "length %d is %" PRId64, 13 + k, lengths[13 + k]);
}

static void longest_is_a_128th_of_the_memory_and_at_most_128_mib(void)
{
    CHECK(longest_message(mib) == 8192, "1 MiB");
    CHECK(longest_message(1000000000) == 7812500, "10^9 byte");
    CHECK(longest_message(16 * 1024 * mib - 128) == 128 * mib - 1, "just below 16 GiB");
    CHECK(longest_message(16 * 1024 * mib) == 128 * mib, "16 GiB");
    CHECK(longest_message(1024 * 1024 * mib) == 128 * mib, "1 TiB");
}

/* a^8 = l_max / 4096: three square roots. */
static void lengths_ascend_and_are_rounded_powers(void)
{
    for (int64_t memory = mib; memory <= 16 * 1024 * mib; memory += memory / 3 + 1) {
        int64_t lengths[LENGTHS];
        message_lengths(longest_message(memory), lengths);
        const int64_t l_max = memory / 128;
        const long double a = sqrtl(sqrtl(sqrtl((long double)l_max / 4096)));
        long double exact = 4096;
        for (int k = 13; k < LENGTHS; k++) {
            exact *= a;
            CHECK(lengths[k] > lengths[k - 1], "memory %" PRId64 ", length %d", memory, k);
            CHECK(fabsl((long double)lengths[k] - exact) < 0.5L + 1e-6L,
                  "memory %" PRId64 ", length %d: %" PRId64 " for %.3Lf", memory, k, lengths[k], exact);
        }
        CHECK(lengths[LENGTHS - 1] == memory / 128, "memory %" PRId64, memory);
    }
}

int main(void)
{
    one_gibibyte_gives_the_specifications_lengths();
    longest_is_a_128th_of_the_memory_and_at_most_128_mib();
    lengths_ascend_and_are_rounded_powers();
    return checks_status();
}
