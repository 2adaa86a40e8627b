# SPDX-License-Identifier: Apache-2.0
"""The sizes of FTIO against the paper's figure and formulas, and arithmetic by hand."""

import math

import pytest

from coffeecup.postprocess.benchmarks.ftio.sizes import (
    automatic_input,
    bytes_of_option,
    input_of_option,
    is_valid,
    lowest_input,
    matrix_width,
    nominal_flops,
)

MIB = 2**20


def test_sizes_are_those_of_the_papers_first_figure():
    assert matrix_width(4, 4) == 64


@pytest.mark.parametrize("processes, i", [(4, 4), (8, 4), (16, 8), (32, 8)])
def test_equation_5_gives_the_papers_input_parameters(processes, i):
    assert automatic_input(processes) == i


@pytest.mark.parametrize("processes", range(1, 65))
def test_equation_5_is_the_lowest_valid_input_from_the_root_plus_one_on(processes):
    valid = [i for i in range(2, 200) if i * i % processes == 0 and i >= math.sqrt(processes) + 1]
    assert automatic_input(processes) == valid[0]
    assert is_valid(valid[0], processes)


OPTIONS = {"auto": 4, "7": 7, "1B": 2, "4KiB": 2, "4097B": 4, "1MiB": 8, "1048577B": 10, "4GiB": 64, "1TiB": 256}


@pytest.mark.parametrize(
    ("direct", "inputs"),
    [(False, OPTIONS | dict.fromkeys(("1.5MiB", "1M", "MiB", "-1"))), (True, {"auto": 32, "1MiB": 32})],
)
def test_input_parameter_of_an_option(direct, inputs):
    """On 4 processes i is even, and the matrix has 16 (4 i^2)^2 = 256 i^4 bytes; with direct I/O i is a multiple of
    32. A number is taken as it is: whether it is valid is another rule."""
    assert {option: input_of_option(option, 4, direct) for option in inputs} == inputs


@pytest.mark.parametrize(
    ("option", "processes", "direct", "i"),
    [
        ("1000B", 1, False, 3),
        ("1B", 9, False, 3),
        ("1B", 9, True, 96),
        ("1B", 4, True, 32),
        ("21000B", 1, False, 8),  # 16 * 6^4 = 20736; 7 is another prime factor
        ("4GiB", 2, False, 96),  # 64 * 91^4 is large enough; 92 and 94 are 4 * 23 and 2 * 47
        ("1GiB", 8, True, 32),
        ("2GiB", 8, True, 64),
        ("1B", 7, False, 7),  # no valid one is without the 7 of the processes
        ("120MiB", 7, False, 21),  # 784 * 21^4 byte = 145 MiB
    ],
)
def test_input_parameter_of_a_size_is_valid(option, processes, direct, i):
    """On a single process odd ones are: the matrix has 16 * 3^4 = 1296 bytes. On 9 processes it is a multiple of 3."""
    assert input_of_option(option, processes, direct) == i


@pytest.mark.parametrize(
    ("option", "processes", "direct", "size"),
    [
        ("8", 4, False, MIB),
        ("64MiB", 16, False, 4096 * 12**4),
        ("64MiB", 16, True, 4 * 1024 * MIB),  # i = 32 instead of 12
        ("auto", 64, False, 4 * 1024 * MIB),  # i = 16, at least sqrt(64) + 1; the smallest is 8
        ("0", 64, False, 256 * MIB),
        ("4G", 64, False, 256 * MIB),
    ],
)
def test_bytes_of_an_option_are_those_of_its_matrix_or_of_the_smallest_if_it_is_refused(
    option, processes, direct, size
):
    """The matrix has 16 (i^2 c)^2 bytes."""
    assert bytes_of_option(option, processes, direct) == size


@pytest.mark.parametrize(
    ("processes", "options", "i"),
    [(4, {}, 2), (8, {}, 4), (9, {}, 3), (12, {}, 6), (9, {"at_least": 4}, 6), (9, {"multiple": 4}, 12), (1, {}, 2)],
)
def test_lowest_valid_input(processes, options, i):
    assert lowest_input(processes, **options) == i


def test_nominal_operations_are_those_of_a_two_dimensional_transform():
    assert nominal_flops(64) == 2 * 64 * 5 * 64 * 6
