/* SPDX-License-Identifier: Apache-2.0 */
/* Binary multiples of a byte. */
#ifndef COFFEECUP_UNITS_H
#define COFFEECUP_UNITS_H

#include <stdint.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#endif
