/* SPDX-License-Identifier: Apache-2.0 */
/* The 21 message lengths of b_eff (paper, section 4): thirteen powers of two, then eight up to L_max. */
#pragma once

#include <stdint.h>

enum { LENGTHS = 21, FIXED_LENGTHS = 13 };

/* L_max = min(128 MiB, memory per process / 128), in bytes. */
int64_t longest_message(int64_t memory_per_process_bytes);

/* 1, 2, 4, ... 4096 byte and round(4096 a^k), k = 1..8, with 4096 a^8 = l_max. */
void message_lengths(int64_t l_max, int64_t lengths[LENGTHS]);
