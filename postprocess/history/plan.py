# SPDX-License-Identifier: Apache-2.0
"""Which tests, with how many repeats each night, detect a loss within some nights: the cheapest set of them.

A *target* is what has to be covered: a metric of a check at a place, on one node or on several, of which any size will
do. The probability of a detection is that of an alarm in any series of the target (history.power).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from coffeecup.postprocess.history.change_points import Site
from coffeecup.postprocess.history.noise import Noise, drawn_sessions, histories
from coffeecup.postprocess.history.power import MOST_BEFORE, alarms, with_loss
from coffeecup.postprocess.statistics.shares import share_interval

REPEATS = (1, 2, 3, 5, 8)
STAGES = (50, 100, 200)  # histories after which a probability that is clearly reached, or missed, is decided
FAILURES_DRAWN = 20  # histories without a detection that are expected at the wanted probability
MOST_TESTS = 12  # of which every subset is tried; of more, subsets of FEW
FEW = 3
# What is tried where the nights and the loss given are not enough; the latter as multiples, up to LARGEST_LOSS.
LONGER = (10, 14, 21, 28, 42, 60, 90)
LARGER = (1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5)
LARGEST_LOSS = 0.5


@dataclass(frozen=True)
class Terms:
    """What is wanted: a loss, a fraction, is detected within so many nights with this probability, at a cost of so many
    minutes a night."""

    minutes: float
    nights: int
    loss: float
    power: float
    seed: int = 0

    @property
    def draws(self) -> int:
        return round(FAILURES_DRAWN / (1 - self.power))

    def affords(self, seconds: float) -> bool:
        return seconds <= 60 * self.minutes * (1 + 1e-9)


@dataclass(frozen=True)
class OfferedTest:
    """A test as ReFrame's option -n selects it, on all its partitions and environments: the seconds of one run and
    those times the nodes, the most nodes, and the numbers of its series. `session` is the last one that ran it."""

    name: str
    seconds: float
    node_seconds: float
    nodes: int
    session: str
    series: tuple[int, ...]


@dataclass(frozen=True)
class Share:
    """How many of the drawn histories alarmed, with the interval of their share (Monte Carlo)."""

    count: int
    draws: int

    @property
    def value(self) -> float:
        return self.count / self.draws

    @property
    def interval(self) -> tuple[float, float]:
        return share_interval(self.count, self.draws)


def share(alarmed: np.ndarray) -> Share:
    """From one boolean for each drawn history: whether it alarmed."""
    return Share(int(alarmed.sum()), len(alarmed))


@dataclass
class Simulation:
    """Histories drawn from the noise of series of a site, and which of them alarm."""

    series: list[Noise]
    site: Site
    terms: Terms
    done: Callable[[], None] = lambda: None
    _known: dict = field(default_factory=dict)

    @property
    def repeats(self) -> tuple[int, ...]:
        """The numbers of repeats that are tried: one alone if the sessions do not tell how repeats differ."""
        return REPEATS if any(len(noise.runs) for noise in self.series) else REPEATS[:1]

    @property
    def before(self) -> int:
        """Nights before the loss."""
        return min(len(self.series[0].sessions), MOST_BEFORE)

    def stable(self, number: int, repeats: int, nights: int) -> np.ndarray:
        noise, shape = self.series[number], (self.terms.draws, self.before + nights)
        drawn = drawn_sessions(len(noise.sessions), shape, np.random.default_rng(self.terms.seed))
        return histories(noise, drawn, repeats, np.random.default_rng([self.terms.seed, repeats, number]))

    def detected(self, number: int, repeats: int, nights: int = 0, loss: float = 0.0, draws: int = 0) -> np.ndarray:
        """In which histories (draws,) a loss is detected; the terms' loss, nights and draws where they are 0."""
        nights, loss, draws = nights or self.terms.nights, loss or self.terms.loss, draws or self.terms.draws
        key = number, repeats, nights, loss
        known = self._known.get(key, np.empty(0, dtype=bool))
        if len(known) < draws:
            rule = self.series[number].rule
            more = self.stable(number, repeats, nights)[len(known) : draws]
            more = alarms(with_loss(more, rule, self.before, loss), rule, self.site, self.before)
            known = self._known[key] = np.append(known, more)
            self.done()
        return known[:draws]

    def false_alarms(self, number: int, repeats: int) -> np.ndarray:
        """Which stable histories, at most STAGES[-1], of before + nights nights alarm."""
        key = number, repeats
        if key not in self._known:
            values = self.stable(number, repeats, self.terms.nights)[: STAGES[-1]]
            self._known[key] = alarms(values, self.series[number].rule, self.site)
        return self._known[key]

    def any_detected(self, numbers: list[int], repeats: int, nights: int = 0, loss: float = 0.0) -> np.ndarray:
        """In which histories any of these series shows the loss: as many histories as decide whether it is detected
        with the wanted probability."""
        alarmed = np.empty(0, dtype=bool)
        for draws in [*(stage for stage in STAGES if stage < self.terms.draws), self.terms.draws]:
            every = [self.detected(number, repeats, nights, loss, draws) for number in numbers]
            alarmed = np.logical_or.reduce(every)
            if self.proven(alarmed) or share(alarmed).interval[1] < self.terms.power:
                break
        return alarmed

    def proven(self, alarmed: np.ndarray) -> bool:
        """Whether even the low end of the interval is at least the wanted probability."""
        return share(alarmed).interval[0] >= self.terms.power


@dataclass(frozen=True)
class Choice:
    """Tests with so many repeats each: the seconds of a night."""

    tests: tuple[OfferedTest, ...]
    repeats: int

    @property
    def seconds(self) -> float:
        return self.repeats * sum(test.seconds for test in self.tests)


def groups(tests: list[OfferedTest], targets: list[tuple]) -> list[list[OfferedTest]]:
    """The tests divided so that no two groups have a target in common; `targets` are those of the series."""
    parts: list[list[OfferedTest]] = []
    for test in tests:
        own = {targets[number] for number in test.series}
        joined = [part for part in parts if own & {targets[n] for other in part for n in other.series}]
        parts = [part for part in parts if part not in joined] + [[*(one for part in joined for one in part), test]]
    return parts


def subsets(tests: list[OfferedTest]) -> Iterator[tuple[OfferedTest, ...]]:
    """By their cost."""
    most = len(tests) if len(tests) <= MOST_TESTS else FEW
    every = [some for size in range(1, most + 1) for some in combinations(tests, size)]
    return iter(sorted(every, key=lambda some: (sum(test.seconds for test in some), len(some))))


def covers(
    some: tuple[OfferedTest, ...], targets: list[tuple], wanted: set[tuple], repeats: int, by: Simulation
) -> bool:
    numbers = [number for test in some for number in test.series]
    if {targets[number] for number in numbers} != wanted:
        return False
    return all(
        by.proven(by.any_detected([number for number in numbers if targets[number] == target], repeats))
        for target in sorted(wanted)
    )


def cheapest(tests: list[OfferedTest], targets: list[tuple], by: Simulation) -> Choice | None:
    """The cheapest tests and number of repeats with which every target is covered, whatever it costs; None if none
    covers them."""
    parts, best = groups(tests, targets), None
    for repeats in by.repeats:
        least = repeats * sum(min(test.seconds for test in part) for part in parts)
        if best and least >= best.seconds:
            break
        chosen: list[OfferedTest] = []
        for part in parts:
            wanted = {targets[number] for test in part for number in test.series}
            found = next((some for some in subsets(part) if covers(some, targets, wanted, repeats, by)), None)
            if found is None:
                break
            chosen += found
        else:
            choice = Choice(tuple(chosen), repeats)
            best = choice if best is None or choice.seconds < best.seconds else best
    return best


@dataclass(frozen=True)
class Coverage:
    """How a target is covered by the numbers of its series, with the power of all together; of a target that is not
    covered, how many nights and which loss would be enough (None: none that was tried)."""

    target: tuple
    numbers: tuple[int, ...]
    power: Share
    reached: bool
    nights: int | None = None
    loss: float | None = None


def coverage(target: tuple, numbers: list[int], repeats: int, by: Simulation) -> Coverage:
    alarmed = by.any_detected(numbers, repeats)
    if by.proven(alarmed):
        return Coverage(target, tuple(numbers), share(alarmed), reached=True)
    longer = [nights for nights in LONGER if nights > by.terms.nights]
    larger = [round(by.terms.loss * times, 4) for times in LARGER if by.terms.loss * times <= LARGEST_LOSS]
    nights = first(longer, lambda some: by.proven(by.any_detected(numbers, repeats, nights=some)))
    loss = first(larger, lambda some: by.proven(by.any_detected(numbers, repeats, loss=some)))
    return Coverage(target, tuple(numbers), share(alarmed), reached=False, nights=nights, loss=loss)


def first(ascending: list, enough: Callable) -> Any:
    """The first of these that is enough, if all after it are as well; None if there is none."""
    place = bisect_left(ascending, True, key=enough)
    return ascending[place] if place < len(ascending) else None


@dataclass(frozen=True)
class Plan:
    """The tests that were chosen, or all with the number of repeats that the minutes allow if none reaches what is
    wanted. `affordable` is whether the choice, if any, fits into the minutes; `false_alarms` those of all series of
    the choice, in stable histories of `before` + nights nights."""

    terms: Terms
    choice: Choice
    found: bool
    coverage: list[Coverage]
    false_alarms: Share
    before: int
    most_repeats: int

    @property
    def affordable(self) -> bool:
        return self.terms.affords(self.choice.seconds)

    @property
    def reached(self) -> bool:
        return self.found and self.affordable


def plan(tests: list[OfferedTest], targets: list[tuple], by: Simulation) -> Plan:
    """The plan for tests, of which some cover each target; `targets` are those of the series."""
    found = cheapest(tests, targets, by)
    choice = found or Choice(tuple(tests), most_repeats(tests, by))
    numbers = [number for test in choice.tests for number in test.series]
    of_target = {target: [n for n in numbers if targets[n] == target] for target in dict.fromkeys(targets)}
    covered = [coverage(target, inside, choice.repeats, by) for target, inside in of_target.items()]
    false = np.logical_or.reduce([by.false_alarms(number, choice.repeats) for number in numbers])
    return Plan(by.terms, choice, found is not None, covered, share(false), by.before, by.repeats[-1])


def most_repeats(tests: list[OfferedTest], by: Simulation) -> int:
    """The most repeats of all tests that the minutes allow, at least 1."""
    return max([n for n in by.repeats if by.terms.affords(Choice(tuple(tests), n).seconds)], default=1)
