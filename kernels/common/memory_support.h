/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the MPI library accepts buffers in memory of an accelerator. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The questions that were asked, each with its answer: what the library states, whether it supports the kind, or null
 * if it does not know the question. `supported`: one of the answers is yes. Each process asks for itself. */
json_t *memory_questions(int kind, bool *supported);
