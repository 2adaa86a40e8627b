# SPDX-License-Identifier: Apache-2.0
"""Whether another MPI library or variable caused an event of a history: the comparison that would tell, and what its
result says."""

import shlex
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import dropwhile
from math import inf, log
from pathlib import Path

import pandas as pd

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.comparison.arms import ENVIRONMENT, LIBRARY
from coffeecup.postprocess.comparison.result import Comparison
from coffeecup.postprocess.comparison.verdicts import Verdict, percent
from coffeecup.postprocess.history.change_points import Finding
from coffeecup.postprocess.history.events import RETURNED, Event
from coffeecup.postprocess.history.nodes import short
from coffeecup.postprocess.show.words import printable


def tested(event: Event, results: Iterable[Comparison], values: pd.DataFrame) -> Event:
    """The event with what comparisons say of its causes. `values` are the session_values, whose hosts tell whether a
    comparison is of the same system."""
    of_system = values.loc[values["system"] == event.system, "hosts"].unique()
    known = {short(host) for hosts in of_system for host in hosts.split(",")} - {""}
    every = [*results]
    said = [(cause, verdict_on(cause, event, each, known)) for cause in event.causes for each in every]
    return replace(event, tested={cause: words for cause, words in said if words})


def says_nothing(events: Collection[Event], found: Comparison, values: pd.DataFrame) -> bool:
    """Whether a comparison says nothing of any cause of these events."""
    return not any(tested(event, [found], values).tested for event in events)


def verdict_on(cause: str, event: Event, found: Comparison, known: set[str]) -> str:
    """What a comparison says of a cause, by the largest change that it measured; empty if it compared something
    else. On hosts that are not `known`, if any is, it proves nothing."""
    fact, was, now = parts(cause)
    values = {each.fact: each.values for each in found.differences}.get(fact, {})
    for finding in sorted(event.findings, key=lambda finding: -abs(finding.change.relative)):
        for each in found.verdicts if is_run_of(finding, found) else ():
            arms = [printable(values.get(arm, "")) for arm in (found.plan.first, each.arm)]
            if each.metric == finding.series["metric"] and sorted(arms) == sorted((was, now)):
                if known and (strange := [host for host in found.hosts if short(host) not in known]):
                    return f"a comparison cannot tell: no session of {event.system} ran on {strange[0]}"
                others = sorted({difference.fact for difference in found.differences} - {fact})
                also = f"; its arms also differ in {', '.join(others)}" if others else ""
                useless = bool(found.obstacles or found.failed)
                return in_words(each, arms[0] == now, finding.change.relative, useless) + also
    return ""


def parts(cause: str) -> tuple[str, str, str]:
    """The fact that changed, and its values before and after (history.circumstances)."""
    fact, _, change = printable(cause).partition(": ")
    was, _, now = change.partition(" -> ")
    was, now = ("" if value == "nothing" else value for value in (was, now))
    return fact, was, now


def is_run_of(finding: Finding, found: Comparison) -> bool:
    """Whether a comparison ran the test of a series: as many processes of the kernel with these options."""
    same = (finding.series["benchmark"], finding.series["processes"]) == (found.benchmark, found.processes)
    kernels = [place for place, word in enumerate(found.plan.command) if Path(word).name == found.benchmark]
    return same and bool(kernels) and without_place(found.plan.command[kernels[0] + 1 :]) == options(finding)


def options(finding: Finding) -> list[str]:
    """Those of the kernel, but for its directory. What comes before them names a variant of the test."""
    return without_place([*dropwhile(lambda word: not word.startswith("-"), finding.series["settings"].split())])


def without_place(words: list[str]) -> list[str]:
    return [word for before, word in zip(["", *words], words) if "--directory" not in (before, word)]


def in_words(found: Verdict, reverse: bool, relative: float, useless: bool) -> str:
    """Whether a difference explains a change: by which parts of its logarithm the ends of the interval do. What is less
    than RETURNED of the change is as good as none of it. `reverse` if the first arm is that of after the change."""
    if useless or found.high is None or not -1 < relative < inf:
        return "a comparison cannot tell"
    low, high = (1 / found.high, 1 / found.low) if reverse else (found.low, found.high)
    least, most = sorted(log(ratio) / log(1 + relative) for ratio in (low, high))
    word = "proved for a part" if most < 1 - RETURNED else "proved"
    if most < RETURNED:
        word = "refuted"
    elif least <= 0:
        word = "not decided"
    return f"{word} by a comparison, which changes {found.metric} by [{percent(low - 1)}, {percent(high - 1)}] %"


def proposal(event: Event) -> list[str]:
    """The command that compares both sides of a cause of the event which no comparison has tested; none if there is no
    such cause. OLD and NEW are the folders of both libraries. A variable that one side did not have is removed from the
    environment, in which a profile of the site may have set it by now."""
    finding = max(event.findings, key=lambda finding: abs(finding.change.relative))
    series = finding.series
    for cause in event.causes if series["benchmark"] in benchmarks() else ():
        fact, *values = parts(cause)
        if cause in event.tested or not (fact == LIBRARY or fact.startswith(ENVIRONMENT)):
            continue
        name, values = ("LD_LIBRARY_PATH", ["OLD", "NEW"]) if fact == LIBRARY else (fact.split()[1], values)
        before, after = (f"{name}={shlex.quote(value)}" if value else "" for value in values)
        words = ["coffeecup", "compare"] if before and after else ["env", "-u", name, "coffeecup", "compare"]
        words += ["--arm", f"before={before}", "--arm", f"after={after}", "--metric", series["metric"]]
        words += ["-o", f"comparison-{event.since:%Y-%m-%d}", "--", "mpirun", "-n", str(series["processes"])]
        place = ["--directory", "DIRECTORY"] if series["file_system"] else []
        return [*words, series["benchmark"], *options(finding), *place]
    return []
