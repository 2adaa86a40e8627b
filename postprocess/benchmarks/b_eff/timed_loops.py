# SPDX-License-Identifier: Apache-2.0
"""The rules on timed loops of patterns, of whatever kinds: how long they may take, how many exchanges they may have,
and how many bytes they exchange."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Loop, Pattern, PlannedLoops
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import ROUNDING, Problem, broken, problems_of_fields

SHORTEST_SECONDS = 1e-9
Kinds = Sequence[type[Loop]]


def problems_of_timed(log: Log[PlannedLoops], kinds: Kinds) -> Iterator[Problem]:
    """Loops of these kinds whose times or lengths are impossible."""
    bounds = {pattern.name: messages_of_process(pattern) for pattern in log.plan.patterns}
    longest = log.plan.longest_loop_length
    for kind in kinds:
        fixed = kind.fixed_length and min(kind.fixed_length, longest)
        for loop in log.all(kind):
            (fewest, most), elapsed, length = bounds[loop.pattern], loop.elapsed_seconds, loop.loop_length
            message = loop.slowest_message_seconds / elapsed
            if elapsed < SHORTEST_SECONDS and fixed != 1:
                yield "shortest", loop
            if loop.fastest_seconds > elapsed:
                yield "fastest", loop
            if message * most < 1 - ROUNDING or message * fewest > 1 + ROUNDING:
                yield "slowest_message", loop
            if length > longest or length != (fixed or length):
                yield "loop_length", loop


def messages_of_process(pattern: Pattern) -> tuple[int, int]:
    """The fewest and the most messages that a process sends in an exchange: one in a ring of two, otherwise two. All
    processes of other patterns send the same number."""
    each = pattern.messages_per_exchange // pattern.processes
    sizes = [ring.size for ring in pattern.rings or []]
    return (min(*sizes, 3) - 1, min(max(sizes), 3) - 1) if sizes else (each, each)


def problems_of_received_bytes(
    log: Log[PlannedLoops], kinds: Kinds, others: tuple[int, int] = (0, 0)
) -> Iterator[Problem]:
    """The loops state how many bytes were sent, the data check how many arrived. Each loop is preceded by an untimed
    exchange, and at least one exchange of it lies in the buffers at its end; `others` are the bytes that lie there
    after other loops, and that these exchanged. A simulator moves no data."""
    messages = {pattern.name: pattern.messages_per_exchange for pattern in log.plan.patterns}
    loops = [loop for kind in kinds for loop in log.all(kind)]
    each = [messages[loop.pattern] * loop.message_bytes for loop in loops]
    least = others[0] + sum(each)
    exchanged = others[1] + sum(moved * (loop.loop_length + 1) for moved, loop in zip(each, loops))
    check = log.only(DataCheck)
    yield from problems_of_fields(check, {"received_bytes": exchanged})
    least = 0 if log.run.simulated else least
    yield from broken(check, {"checked_bytes": least <= check.checked_bytes <= exchanged})
