/* SPDX-License-Identifier: Apache-2.0 */
/* Data that can be checked: each byte is a function of its source (a rank, a file) and its position. Data from the
 * wrong sender or the wrong place, and leftovers from earlier, are therefore detected. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Fills data[0..bytes) with the content that `source` has at positions `position` onwards. */
void data_fill(char *data, size_t bytes, uint32_t source, uint64_t position);

/* Returns how many of data[0..bytes) differ from that content; `first_wrong` becomes the index of the first of them. */
size_t data_count_wrong(const char *data, size_t bytes, uint32_t source, uint64_t position, size_t *first_wrong);
