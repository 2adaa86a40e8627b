# SPDX-License-Identifier: Apache-2.0
"""Which direction of a metric is better where no benchmark of coffeecup states it: from the bounds of its reference,
or else from its unit.

A wrong direction would turn a regression into an improvement. So a unit counts only if it is clear: a time, a time for
a unit of work, or data or work in a time. Of everything else (a percentage, ns/day, errors/s) the direction is unknown.
Libraries of units such as Pint know dimensions, by which errors/s and MB/s are the same, and ns/day is a number.
"""

import re

from coffeecup.postprocess.benchmarks.benchmark import Better

TIME = re.compile(
    r"[munpµμ]?s|[munµμ]?secs?|(milli|micro|nano)?seconds?|mins?|minutes?|h|hrs?|hours?|d|days?", re.IGNORECASE
)
DATA = r"b|bit|bits|byte|bytes"
WORK = (
    r"flop|flops|op|ops|iop|iops|io|ios|it|iter|iters|iterations?|steps?|timesteps?|updates?|lups?|teps|edges|cells|"
    r"atoms|particles|points|msgs?|messages?|packets|transactions?|requests?|queries|images|samples|tokens|jobs|files"
)
AMOUNT = re.compile(rf"([kmgtpez]i?|kilo|mega|giga|tera|peta)?({DATA}|{WORK})", re.IGNORECASE)
PER_SECOND = re.compile(r"[kmgtpez]?i?(flops|ops|iops|teps|lups|bps)", re.IGNORECASE)  # GFLOPS, kIOPS, Gbps


def by_bounds(lower: bool, upper: bool) -> Better:
    """The direction of a metric whose reference has only a lower or only an upper bound."""
    if lower == upper:
        return Better.UNKNOWN
    return Better.HIGHER if lower else Better.LOWER


def by_unit(unit: str) -> Better:
    """The direction of a metric of this unit. A time: lower; data or work in a time: higher."""
    above, slash, below = re.sub(r"\s*(/|\bper\b)\s*", "/", unit.strip()).partition("/")
    if not slash:
        rate = PER_SECOND.fullmatch(above)
        return Better.LOWER if TIME.fullmatch(above) else Better.HIGHER if rate else Better.UNKNOWN
    if TIME.fullmatch(above) and AMOUNT.fullmatch(below):
        return Better.LOWER
    return Better.HIGHER if AMOUNT.fullmatch(above) and TIME.fullmatch(below) else Better.UNKNOWN
