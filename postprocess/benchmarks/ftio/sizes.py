# SPDX-License-Identifier: Apache-2.0
"""The sizes of FTIO (the paper's sections 3.3 and 5.5): from the input parameter i and c processes, N = i^2 c."""

import re
from itertools import count
from math import gcd, isqrt, log2

ELEMENT_BYTES = 16  # a complex number in double precision
DIRECT_MULTIPLE = 32  # of input parameters, so that rows are aligned for direct I/O


def matrix_width(input_parameter: int, processes: int) -> int:
    """N = i^2 c."""
    return input_parameter**2 * processes


def matrix_bytes(input_parameter: int, processes: int) -> int:
    """The size of the matrix of complex numbers: 16 N^2."""
    return ELEMENT_BYTES * matrix_width(input_parameter, processes) ** 2


def is_valid(input_parameter: int, processes: int) -> bool:
    """c divides i^2; then i^2 >= c as well."""
    return input_parameter >= 2 and input_parameter**2 % processes == 0


def lowest_input(processes: int, at_least: int = 2, multiple: int = 1) -> int:
    """The lowest valid input parameter from `at_least` on, a multiple of DIRECT_MULTIPLE for direct I/O. The matrix of
    the lowest of all grows with the fourth power of c."""
    return next(i for i in count(max(at_least, 2)) if is_valid(i, processes) and i % multiple == 0)


def automatic_input(processes: int, multiple: int = 1) -> int:
    """Eq. (5): the lowest valid input parameter that is at least sqrt(c) + 1."""
    root_rounded_up = isqrt(processes - 1) + 1 if processes > 1 else 1
    return lowest_input(processes, root_rounded_up + 1, multiple)


def input_for_bytes(wanted: int, processes: int, multiple: int = 1) -> int:
    """The lowest valid input parameter whose matrix has at least so many bytes, and whose prime factors are small: FFTs
    on different numbers of processes should have similar ones (the paper's section 5.3.3)."""
    i = lowest_input(processes, 2, multiple)
    while matrix_bytes(i, processes) < wanted or not has_small_factors(i, processes):
        i = lowest_input(processes, i + 1, multiple)
    return i


def has_small_factors(i: int, processes: int) -> bool:
    """None but 2, 3, 5 and those of the number of processes, which no valid input parameter can avoid."""
    while (divisor := gcd(i, 2 * 3 * 5 * processes)) > 1:
        i //= divisor
    return i == 1


def input_of_option(text: str, processes: int, direct: bool) -> int | None:
    """The input parameter that the kernel's option --input selects; None for a value that it refuses."""
    multiple = DIRECT_MULTIPLE if direct else 1
    if text == "auto":
        return automatic_input(processes, multiple)
    parts = re.fullmatch("([0-9]+)(B|KiB|MiB|GiB|TiB)?", text)
    if parts is None or not parts[2]:
        return int(text) if parts else None
    return input_for_bytes(int(parts[1]) * 1024 ** "BKMGT".index(parts[2][0]), processes, multiple)


def bytes_of_option(text: str, processes: int, direct: bool) -> int:
    """Bytes of the matrix that the kernel's option --input selects; of the smallest valid one for a value that it
    refuses."""
    return matrix_bytes(input_of_option(text, processes, direct) or lowest_input(processes), processes)


def nominal_flops(width: int) -> float:
    """5 N log2 N for each of the N transforms of two series."""
    return 2 * width * 5 * width * log2(width)
