# SPDX-License-Identifier: Apache-2.0
"""The definition of b_eff (the paper's section 4): its patterns, methods and message lengths, and the sizes of rings.
"the paper" is R. Rabenseifner and A. E. Koniges, "The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and
b_eff_io"."""

import numpy as np

from coffeecup.postprocess.show.units import MIB

LENGTHS = 21
PATTERNS_AVERAGED = {"ring": 6, "random": 30}
METHODS = ("sendrecv", "alltoallv", "nonblocking", "neighbor", "persistent", "blocking")
METHODS_AVERAGED = set(METHODS[:3])
PING_PONG_METHOD = METHODS[-1]  # for the ping-pong only, which has no other
L_MAX_LIMIT = 128 * MIB
ONE_RING = 3  # up to so many processes, each order is the same ring


def message_lengths(l_max_bytes: int) -> np.ndarray:
    """The 21 message lengths in byte, ascending: 1, 2, 4, ... 4096, then round(4096 * a^k) with 4096 * a^8 = L_max."""
    short = 2 ** np.arange(13)
    long = np.rint(4096 * (l_max_bytes / 4096) ** (np.arange(1, 9) / 8)).astype(np.int64)
    return np.concatenate([short, long[:-1], [l_max_bytes]])


def l_max_rule(memory_per_process_bytes: int) -> int:
    """L_max in byte: a 128th of the memory per process, at most 128 MiB."""
    return min(L_MAX_LIMIT, memory_per_process_bytes // 128)


def buffer_rule(l_max_bytes: int) -> int:
    """The size of a buffer in byte: eight messages of L_max, each rounded up to whole cache lines of 64 byte."""
    return 8 * -(-l_max_bytes // 64) * 64


def ring_sizes(processes: int, number: int) -> list[int]:
    """Sizes of the rings of ring pattern `number` (1 to 6), in rank order. Six patterns on a one-dimensional cyclic
    topology."""
    n = processes
    standard = min((2, 4, 8, max(16, n // 4), max(32, n // 2), n)[number - 1], n)
    rings = max(1, min((10 * n + 4 * standard) // (10 * standard), n // 2))  # floor(n / m + 0.4), exactly
    low, larger = divmod(n, rings)
    small_rings, large_rings = [low] * (rings - larger), [low + 1] * larger
    return large_rings + small_rings if low % 2 else small_rings + large_rings


def messages_per_exchange(sizes: list[int]) -> int:
    """Two messages per process; one in a ring of two, where the left and the right neighbour are the same."""
    return sum(size if size == 2 else 2 * size for size in sizes)
