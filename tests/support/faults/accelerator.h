/* SPDX-License-Identifier: Apache-2.0 */
/* What accelerator.c offers its layer over MPI. The names do not hide any of the kernels'. */
#pragma once

extern long standin_under_way; /* operations that were started and not completed */

/* The value of an environment variable. */
long standin_setting(const char *name, long otherwise);

/* Between these two, which may be nested, device memory is accessible. */
void standin_enter(void);
void standin_leave(void);

int standin_is_device(const char *address);

/* The number of the device that the process selected. */
int standin_device(void);
