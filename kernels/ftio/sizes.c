/* SPDX-License-Identifier: Apache-2.0 */
/* See sizes.h. */
#include "sizes.h"

#include <math.h>
#include <stdbool.h>

struct sizes sizes_of(int64_t input, int64_t processes)
{
    struct sizes sizes = {.input = input, .processes = processes, .square = input * input};
    sizes.width = sizes.square * processes;
    sizes.bytes = sizes.width * sizes.width * ELEMENT_BYTES;
    return sizes;
}

static bool is_representable(int64_t input, int64_t processes)
{
    const double width = (double)input * (double)input * (double)processes;
    return input <= LARGEST_INPUT && width * width * ELEMENT_BYTES < (double)INT64_MAX;
}

int64_t next_input(int64_t lowest, int64_t processes, int64_t multiple)
{
    if (lowest < SMALLEST_INPUT)
        lowest = SMALLEST_INPUT;
    for (int64_t input = lowest; is_representable(input, processes); input++)
        if (input * input % processes == 0 && input % multiple == 0)
            return input;
    return 0;
}

int64_t automatic_input(int64_t processes, int64_t multiple)
{
    return next_input((int64_t)ceil(sqrt((double)processes)) + 1, processes, multiple);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

static bool has_small_factors(int64_t input, int64_t processes)
{
    for (int64_t divisor; (divisor = common_divisor(input, 2 * 3 * 5 * processes)) > 1;)
        input /= divisor;
    return input == 1;
}

int64_t input_for_bytes(int64_t bytes, int64_t processes, int64_t multiple)
{
    const double width = sqrt((double)bytes / ELEMENT_BYTES);
    int64_t input = next_input((int64_t)sqrt(width / (double)processes), processes, multiple);
    /* the roots above were rounded down */
    while (input && (sizes_of(input, processes).bytes < bytes || !has_small_factors(input, processes)))
        input = next_input(input + 1, processes, multiple);
    return input;
}
