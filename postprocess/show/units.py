# SPDX-License-Identifier: Apache-2.0
"""The units of the papers: bandwidths in MByte/s of 10^6 bytes, sizes in powers of 1024."""

MBYTE = 10**6
GBYTE = 10**9
KIB = 2**10
MIB = 2**20
GIB = 2**30
