# SPDX-License-Identifier: Apache-2.0
"""Numbers as text for people, in the same way everywhere."""

import re

NARROW_SPACE = "\u202f"


def digits(value: float, thousands: str = "") -> str:
    """Four significant digits; more where the integer part has more, fewer where the value is an integer."""
    if not abs(value) < 1e15:  # NaN as well
        return f"{value:.3e}"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", thousands)
    return f"{value:.0f}" if value == int(value) else f"{value:#.4g}".rstrip(".")


def exact(value: float) -> str:
    """Ten significant digits, for numbers on which a decision is based."""
    return f"{value:.10g}"


def size(count: int) -> str:
    """A size in byte with the unit of its power of two, in three digits (four from 1000 on)."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            places = 2 if count < 10 * factor else 1 if count < 1000 * factor else None
            return f"{round(count / factor, places):.15g} {unit}"
    return f"{count} byte"


def seconds(value: float) -> str:
    """A time in a suitable unit."""
    if value < 120:
        return f"{digits(value)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def counted(count: int, noun: str) -> str:
    """1 host, 2 hosts, 2 processes."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def named(benchmark: str, metric: str) -> str:
    """A metric with its benchmark, whose main metric may have the same name."""
    return metric if metric == benchmark else f"{benchmark} {metric}"


def printable(text: str) -> str:
    """One line that is safe on any terminal: characters that are not printable are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def file_word(text: str) -> str:
    """A text as a part of the name of a file in a given folder, and of an id on a page."""
    return re.sub(r"[^\w.-]+", "_", text)


def unit_word(unit: str) -> str:
    """A unit as written after a number: empty for a pure number, whose unit is 1."""
    return "" if unit == "1" else unit


def ranges(numbers: list[int]) -> str:
    """Sorted numbers as ranges: 0–7, 16."""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}–{last}" if last > first else str(first) for first, last in runs)
