# SPDX-License-Identifier: Apache-2.0
"""What an optional part of b_eff may add to it. A part is a folder beside this file: its __init__.py has a PART, which
is cheap to load, its door.py a DOOR; parts.py lists the folders. docs/add-an-optional-part.md shows an example."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coffeecup.postprocess.benchmarks.benchmark import MetricKind
from coffeecup.postprocess.logs.records import Record

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.benchmarks.b_eff.records import Plan
    from coffeecup.postprocess.benchmarks.score import Score
    from coffeecup.postprocess.logs.reader import Log
    from coffeecup.postprocess.logs.rules import Expected, Problem
    from coffeecup.postprocess.show.plots import Figure


def nothing(*_) -> tuple:
    return ()


@dataclass(frozen=True)
class Part:
    """The records and options that a part adds to the log, what it adds to Benchmark.rules, and (metrics, *optional) ->
    variants of the metrics of b_eff, or others."""

    records: tuple[type[Record], ...] = ()
    options: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    variants: Callable[..., Iterable[MetricKind]] = nothing


@dataclass(frozen=True)
class View:
    """A log as the paper defines it. It may be a part of another log: then `suffix` ends the names of its metrics and
    figures, and `name` and `words` name it in tables and sentences."""

    log: "Log[Plan]"
    suffix: str = ""
    name: str = ""
    words: str = ""


@dataclass(frozen=True)
class Check:
    """Of a result against its own run: a sentence of the report and, if it is doubtful, a qualification."""

    key: str
    sentence: str
    doubtful: bool


@dataclass(frozen=True)
class Door:
    """All that the core asks a part for, in the order of scoring; a part states what it has.

    Rules: `views` divide a log, which problems_of_views admit. `before` yields the part's records that precede a
    repetition (log, repetition), `after` those that follow the measurement; `problems` rely on them. The loops of these
    records exchange `bytes_exchanged`, once and in all, and take `seconds`; `clocked` records state the run's time.

    Results: `metrics` are tables as that of reduction.metrics. `breaches` and `qualifications` yield keys and texts.
    `checks` (view, its rows of a measurement_table) are those of a result. `section` (log, score) has the values of the
    part's template in the report, which it names as `template`. `functions` are some of those of functions.py."""

    invariants: Mapping[str, str] = field(default_factory=dict)
    views: "Callable[[Log[Plan]], list[View]]" = field(default=lambda log: [])
    problems_of_views: "Callable[[Log[Plan]], Iterable[Problem]]" = nothing
    problems_of_plan: "Callable[[Log[Plan]], Iterable[Problem]]" = nothing
    before: "Callable[[Log[Plan], int], Iterable[Expected]]" = nothing
    after: "Callable[[Log[Plan]], Iterable[Expected]]" = nothing
    problems: "Callable[[Log[Plan]], Iterable[Problem]]" = nothing
    bytes_exchanged: "Callable[[Log[Plan]], tuple[int, int]]" = lambda log: (0, 0)
    seconds: "Callable[[Log[Plan]], float]" = lambda log: 0.0
    clocked: tuple[type[Any], ...] = ()
    metrics: "Callable[[list[Log[Plan]]], Iterable[pd.DataFrame]]" = nothing
    breaches: "Callable[[Log[Plan]], Iterable[tuple[str, str]]]" = nothing
    qualifications: "Callable[[Log[Plan]], Iterable[tuple[str, str]]]" = nothing
    checks: "Callable[[View, pd.DataFrame], Iterable[Check]]" = nothing
    figures: "Callable[[Log[Plan]], Iterable[Figure]]" = nothing
    section: "Callable[[Log[Plan], Score], dict]" = field(default=lambda log, score: {})
    functions: Mapping[str, Callable] = field(default_factory=dict)
