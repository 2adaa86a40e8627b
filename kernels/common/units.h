/* SPDX-License-Identifier: Apache-2.0 */
/* Binary multiples of a byte, and the lesser and greater of two numbers. */
#pragma once

#include <stdint.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static inline int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
