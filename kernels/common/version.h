/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the kernels, for --version and the log. */
#ifndef COFFEECUP_VERSION_H
#define COFFEECUP_VERSION_H

const char *kernel_version(void);

#endif
