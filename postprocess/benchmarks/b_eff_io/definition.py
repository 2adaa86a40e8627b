# SPDX-License-Identifier: Apache-2.0
"""The definition of b_eff_io (the paper's section 5.1 and table 2): its access methods, pattern types and patterns, and
how often the patterns that are driven by size are called. "the paper" is R. Rabenseifner and A. E. Koniges, "The
Parallel Communication and I/O Bandwidth Benchmarks: b_eff and b_eff_io"."""

from collections.abc import Mapping, Sequence
from math import floor, log2
from typing import NamedTuple

from coffeecup.postprocess.benchmarks.b_eff_io.records import PlannedPattern, Type
from coffeecup.postprocess.show.units import GIB, KIB, MIB


class TypeRule(NamedTuple):
    """`segmented`: each process has a segment of the file. `time_driven`: the number of calls follows from the
    scheduled time, otherwise from those of the types that are."""

    averaged: bool
    collective: bool
    separate: bool
    segmented: bool
    time_driven: bool


TYPE_RULES: dict[Type, TypeRule] = {
    "scatter": TypeRule(True, True, False, False, True),
    "shared": TypeRule(True, True, False, False, True),
    "separate": TypeRule(True, False, True, False, True),
    "segmented": TypeRule(True, False, False, True, False),
    "segmented-collective": TypeRule(True, True, False, True, False),
    "random": TypeRule(False, False, False, True, False),
    "random-collective": TypeRule(False, True, False, True, False),
}
TYPES = tuple(name for name, rule in TYPE_RULES.items() if rule.averaged)
METHODS = ("write", "rewrite", "read")
OFFICIAL_SECONDS = 900.0
TOP_CLUSTERS_SECONDS = 1800.0
QUICK_SECONDS = 60.0
UNITS = 64
CACHE_FACTOR = 20
PERIOD_BYTES = 4099 * 4096  # the data in a process's buffer, after which it repeats

_SMALL = ((MIB, 0), (None, 2), (MIB, 2), (32 * KIB, 1), (KIB, 1), (32 * KIB + 8, 1), (KIB + 8, 1), (MIB + 8, 2))
_RANDOM = ((MIB, 2), (32 * KIB, 1), (KIB, 1))
_SHARED_FACTOR = 10  # a call of type shared counts as ten
_SCATTERED_PAIRS = 2  # the pattern of type scatter that gives no count


def m_part_rule(node_memory_bytes: int) -> int:
    """M_PART in byte: max(2 MiB, memory of one node / 128) in whole MiB, at most 1 GiB."""
    return min(GIB, max(2 * MIB, node_memory_bytes // 128 // MIB * MIB))


def patterns_rule(m_part: int) -> list[tuple[Type, int | None, int | None, int]]:
    """The paper's table 2, a row per pattern number: type, l, L in byte, U. None where a pattern fills up the segment.
    Behind its 43 rows are those of the random types."""
    scatter = [
        (MIB, MIB, 0),
        (m_part, m_part, 4),
        (MIB, 2 * MIB, 4),
        (MIB, MIB, 4),
        (32 * KIB, MIB, 2),
        (KIB, MIB, 2),
        (32 * KIB + 8, MIB + 256, 2),
        (KIB + 8, MIB + 8 * KIB, 2),
        (MIB + 8, MIB + 8, 2),
    ]
    small = [(chunk or m_part, chunk or m_part, units) for chunk, units in _SMALL]
    shared = [(chunk, chunk, 4 if number == 1 else units) for number, (chunk, _, units) in enumerate(small)]
    full = [*small, (None, None, 0)]
    random = [(chunk, chunk, units) for chunk, units in _RANDOM]
    return [
        (name, chunk, memory, units)
        for name, rows in zip(TYPE_RULES, (scatter, shared, small, full, full, random, random), strict=True)
        for chunk, memory, units in rows
    ]


def default_partitions(processes: int) -> list[int]:
    """2^round(0.35 log2 n), 2^round(0.70 log2 n) and n, ascending."""
    wanted = [2 ** floor(share * log2(processes) + 0.5) for share in (0.35, 0.70)]
    return sorted({partition for partition in wanted if partition <= processes} | {processes})


def size_driven_calls(pattern: PlannedPattern, patterns: Sequence[PlannedPattern], written: Mapping[int, int]) -> int:
    """How often each process writes a pattern of a type that is driven by size: as often as the slowest of types 0 to 2
    managed with the same chunk size; `written` are the calls of the process with the fewest, by pattern number. 0 for
    the pattern that fills up the segment."""
    if pattern.chunk_bytes is None:
        return 0
    if pattern.units == 0:
        return 1
    counts = [
        written[other.pattern] * (_SHARED_FACTOR if other.type == "shared" else other.call_bytes // other.chunk_bytes)
        for other in patterns
        if TYPE_RULES[other.type].time_driven
        and other.units > 0
        and other.pattern != _SCATTERED_PAIRS
        and other.chunk_bytes == pattern.chunk_bytes
        and other.call_bytes is not None
        and other.chunk_bytes is not None
        and other.pattern in written
    ]
    return min(counts, default=0)


def calls_in_buffer(call_bytes: int) -> int:
    """The number of the last calls whose data can be checked after a pattern."""
    return max(1, PERIOD_BYTES // call_bytes)
