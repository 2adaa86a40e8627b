/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of ftio against a search by hand, and differences from its result.
 * tests/kernels/test_ftio_kernel_result.py compares the result with NumPy's. */
#include <inttypes.h>
#include <math.h>

#include "check.h"
#include "matrix.h"
#include "sizes.h"

static void next_input_is_the_lowest_valid_one(void)
{
    for (int64_t processes = 1; processes <= 100; processes++) {
        for (int64_t lowest = 0; lowest < 50; lowest += 7) {
            int64_t input = lowest < 2 ? 2 : lowest;
            while (input * input % processes != 0)
                input++;
            const int64_t found = next_input(lowest, processes, 1);
            CHECK(found == input, "%" PRId64 " from %" PRId64 " on %" PRId64, found, lowest, processes);
            CHECK(found * found >= processes, "%" PRId64 " on %" PRId64, found, processes);
        }
    }
    CHECK(next_input(3, 2, 32) == 32, "a multiple of 32");
    CHECK(next_input(100000, 2, 1) == 0, "too large to be counted");
    CHECK(next_input(2, INT64_C(1) << 40, 1) == 0, "too many processes");
}

/* A prime factor of the input that is neither 2, 3, 5 nor one of the processes, 0 without one. */
static int64_t other_prime_factor(int64_t input, int64_t processes)
{
    for (int64_t factor = 2; factor <= input; factor++)
        for (; input % factor == 0; input /= factor)
            if (factor > 5 && processes % factor != 0)
                return factor;
    return 0;
}

static void size_gives_the_lowest_input_that_is_large_enough(void)
{
    for (int64_t processes = 1; processes <= 12; processes++) {
        for (int64_t bytes = 1; bytes < INT64_C(1) << 34; bytes = bytes * 3 + 1) {
            const int64_t input = input_for_bytes(bytes, processes, 1);
            CHECK(sizes_of(input, processes).bytes >= bytes, "%" PRId64 " byte", bytes);
            CHECK(!other_prime_factor(input, processes), "%" PRId64 " on %" PRId64, input, processes);
            for (int64_t lower = 2; lower < input; lower++)
                CHECK(next_input(lower, processes, 1) != lower || sizes_of(lower, processes).bytes < bytes ||
                          other_prime_factor(lower, processes),
                      "%" PRId64 " would do for %" PRId64 " byte", lower, bytes);
        }
    }
}

static void what_is_no_number_counts_as_the_largest_difference(void)
{
    const double complex found[] = {1, NAN, 2}, expected[] = {1, 1, 4};
    struct difference difference = {0};
    compare_row(found, expected, 1, &difference);
    CHECK(difference.total == 0 && difference.largest_relative == 0, "%g", difference.total);
    compare_row(found + 2, expected + 2, 1, &difference);
    CHECK(difference.total == 2 && difference.largest == 2, "%g, %g", difference.total, difference.largest);
    CHECK(difference.largest_relative == 0.5, "%g", difference.largest_relative);
    compare_row(found, expected, 3, &difference);
    CHECK(difference.largest_relative >= 1e299, "%g", difference.largest_relative);
    CHECK(isfinite(difference.total) && isfinite(difference.largest), "%g", difference.total);
}

int main(void)
{
    next_input_is_the_lowest_valid_one();
    size_gives_the_lowest_input_that_is_large_enough();
    what_is_no_number_counts_as_the_largest_difference();
    return checks_status();
}
