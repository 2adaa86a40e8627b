# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison: from the logs of its runs to verdicts, and to text and JSON."""

from collections import Counter
from dataclasses import asdict
from math import exp, isnan
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.comparison.arms import (
    ENVIRONMENT,
    HOSTS,
    Difference,
    differences,
    hosts_of,
    may_change,
    not_arrived,
)
from coffeecup.postprocess.comparison.plan import CONTROL, Plan, PlanError
from coffeecup.postprocess.comparison.verdicts import Verdict, in_words, percent, ratios, risk_in_words, verdict
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable
from coffeecup.postprocess.statistics.pairs import looks

CERTAIN = 3  # blocks: fewer do not tell a property of the arms from what changes from run to run


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended. `log` is relative to the folder of the comparison; `problem` is why the run failed."""

    block: int
    arm: str
    seconds: float
    folder: str
    log: str | None = None
    problem: str | None = None


class Results:
    """The runs of a plan that ended so far, the scores of those that did not fail by block and arm, and what follows
    from them."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.runs: list[Run] = []
        self.scores: dict[tuple[int, str], Score] = {}

    def add(self, block: int, arm: str, path: Path) -> str | None:
        """Adds the log of a run; returns why it cannot be used. Raises PlanError if no run of the plan can be
        judged."""
        try:
            score = score_log(path)
        except LogError as error:
            return error.problem
        if self.scores and score.benchmark != self.benchmark:
            return f"it is a run of {score.benchmark}, others are of {self.benchmark}"
        if problem := not_arrived(arm, self.plan.arm(arm).environment, score.log):
            return problem
        self.scores[block, arm] = score
        if unknown := [name for name in self.judged if name not in score.metrics]:
            raise PlanError(f"a run has no metric {', '.join(unknown)}, but {', '.join(score.metrics)}")
        return None

    @property
    def benchmark(self) -> str:
        """Empty if no run has a score."""
        return next((score.benchmark for score in self.scores.values()), "")

    @property
    def judged(self) -> list[str]:
        """The metrics that are judged: without any in the plan, the headline of the first run."""
        return self.plan.metrics or [next(iter(self.scores.values())).headline[0]]

    @property
    def blocks(self) -> int:
        """The blocks until the last one that has a score."""
        return 1 + max((block for block, _ in self.scores), default=-1)

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.runs if run.problem]

    def metrics(self, blocks: int) -> pd.DataFrame:
        """Block, arm and all metrics of the runs of the first blocks."""
        return pd.DataFrame(
            [
                {"block": block, "arm": arm} | {name: metric.value for name, metric in score.metrics.items()}
                for (block, arm), score in self.scores.items()
                if block < blocks
            ]
        )

    @property
    def verdicts(self) -> list[Verdict]:
        """On each metric that is judged of each arm, at the last look; empty before the first."""
        return self._verdicts(self.plan.others, self.plan.hypotheses)

    @property
    def control(self) -> list[Verdict]:
        """The same of the first arm's second run, whose true difference is none."""
        return self._verdicts([CONTROL], max(len(self.plan.metrics), 1))

    def _verdicts(self, arms: list[str], hypotheses: int) -> list[Verdict]:
        planned = looks(self.plan.pairs, hypotheses)
        if not (reached := [look for look in planned if look <= self.blocks]):
            return []
        table, benchmark, first = self.metrics(reached[-1]), benchmarks()[self.benchmark], self.plan.first
        settings = self.plan.minimum, planned[reached[-1]]
        return [
            verdict(arm, metric, ratios(table, metric, arm, first), benchmark.metric(metric).better, *settings)
            for arm in arms
            for metric in self.judged
        ]

    @property
    def differences(self) -> list[Difference]:
        return differences(self.plan, [(arm, score.log) for (_, arm), score in self.scores.items()])

    @property
    def unexplained(self) -> list[Difference]:
        return [each for each in self.differences if not each.explained and each.fact != HOSTS]

    @property
    def apart(self) -> str:
        """Of the first run that was on other hosts than that of the first arm in its block, though its command is the
        same: what differs may be that of the nodes. Empty if there is none."""
        for (block, arm), score in self.scores.items():
            beside = self.scores.get((block, self.plan.first))
            if beside and not may_change(self.plan, arm, HOSTS):
                here, there = hosts_of(score.log), hosts_of(beside.log)
                if here != there:
                    return f"in block {block + 1}, {arm} ran on {here} and {self.plan.first} on {there}"
        return ""

    @property
    def decided(self) -> bool:
        return bool(self.verdicts) and all(each.decided for each in self.verdicts)

    @property
    def is_over(self) -> bool:
        """Whether everything is decided, or never will be, since the arms differ in what the plan does not name."""
        return self.decided or bool(self.apart) or (self.blocks >= CERTAIN and bool(self.unexplained))

    @property
    def obstacles(self) -> list[str]:
        """Why there is no verdict, whatever the figures are."""
        first = self.plan.first
        unnamed = [
            f"the arms differ in {each.fact}, which the plan does not name: "
            + ", ".join(f"{arm} has {value or 'none'}" for arm, value in each.values.items())
            for each in self.unexplained
        ]
        unlike_itself = [
            f"{first} differs from itself ({in_words(each, first)}): the order of the runs has an effect, or others "
            "disturbed it"
            for each in self.control
            if each.differs
        ]
        apart = [f"{self.apart}: start all runs in one allocation, such as that of salloc"] if self.apart else []
        return apart + unnamed + unlike_itself

    @property
    def holds(self) -> bool:
        """Whether everything is decided, and nothing speaks against it."""
        return self.decided and not self.failed and not self.obstacles


def medians(results: Results) -> pd.DataFrame:
    """The median of an arm's ratios to the first one, with no claim: a row per metric, a column per arm."""
    table, plan = results.metrics(results.blocks), results.plan
    names = [name for name in table.columns if name not in ("block", "arm")]
    found = {
        arm: {name: exp(np.median(logs)) for name in names if len(logs := ratios(table, name, arm, plan.first))}
        for arm in (*plan.others, CONTROL)
    }
    return pd.DataFrame(found).rename_axis("metric")


def noise(results: Results) -> dict[str, float]:
    """By how much a run of the first arm and one of the control differ, by metric that is judged: the median fraction
    over the blocks. Without a metric of which no block has both."""
    table, first = results.metrics(results.blocks), results.plan.first
    logs = {name: ratios(table, name, CONTROL, first) for name in (results.judged if results.scores else ())}
    return {name: exp(np.median(np.abs(values))) - 1 for name, values in logs.items() if len(values)}


def noise_in_words(results: Results) -> list[str]:
    return [f"{metric} by {percent(fraction)} % (median)" for metric, fraction in noise(results).items()]


def qualifications(results: Results) -> dict[str, dict[str, int]]:
    """How many runs of each arm have a qualification, by its key; without the rules of the paper."""
    found: dict[str, Counter[str]] = {}
    for (_, arm), score in results.scores.items():
        for each in score.qualifications[len(score.breaches) :]:
            found.setdefault(each.key, Counter())[arm] += 1
    return {key: dict(found[key]) for key in sorted(found)}


def without_effect(results: Results) -> list[str]:
    """The arms that no verdict calls different and whose logs differ from those of the first arm in variables alone."""
    first, seen = results.plan.first, {each.arm for each in results.verdicts if each.differs}
    for each in results.differences:
        if not each.fact.startswith(ENVIRONMENT):
            seen |= {arm for arm, value in each.values.items() if value != each.values.get(first)}
    return [arm for arm in results.plan.others if arm in {arm for _, arm in results.scores} - seen]


def text(results: Results) -> str:
    """For people at a terminal."""
    plan, runs = results.plan, len(results.scores)
    lines = [f"{results.benchmark or 'nothing'}: {counted(runs, 'run')} of {', '.join(plan.arms)} in turn"]
    lines += [f"No verdict: {obstacle}." for obstacle in results.obstacles]
    if not results.obstacles:
        lines += [f"{each.metric}, {in_words(each, plan.first)}" for each in results.verdicts]
        lines += [f"({risk_in_words()})"] if results.verdicts else ["Too few pairs to judge."]
    lines += [f"{run.folder} failed: {run.problem}" for run in results.failed]
    lines += [f"Two runs of {plan.first} in a block differ in {of_noise}." for of_noise in noise_in_words(results)]
    if counts := qualifications(results):
        number = [f"{key} {sum(of_arms.values())}" for key, of_arms in counts.items()]
        lines.append(f"Qualifications, with the number of runs: {', '.join(number)}.")
    if silent := without_effect(results):
        lines.append(f"Beside variables, the logs state no difference of {', '.join(silent)}: was a setting ignored?")
    facts = {each.fact: {arm: each.values.get(arm, "") for arm in plan.arms} for each in results.differences}
    title = f"Median ratios to the arm {plan.first}, not judged:"
    return laid_out(lines, (title, medians(results)), in_what(facts, "the arms"))


def in_what(facts: dict[str, dict[str, str]], who: str) -> tuple[str, pd.DataFrame]:
    """The table of the facts in which they differed, with its title."""
    return f"In what {who} differed:", pd.DataFrame(facts).T.rename_axis("fact")


def laid_out(lines: list[str], *tables: tuple[str, pd.DataFrame]) -> str:
    """Lines, and tables with their titles, without those that are empty."""
    shown = [part for title, rows in tables if len(rows) for part in (Text(title), drawn(rows))]
    return "".join(f"{printable(line)}\n" for line in lines) + rendered(*shown)


def drawn(rows: pd.DataFrame) -> Table:
    """One line for each index; floats with their digits, all else as text."""
    table = simple_table(*map(str, (rows.index.name, *rows.columns)))
    for column in table.columns:
        column.overflow = "fold"
    for name, values in rows.iterrows():
        table.add_row(*map(Text, (str(name), *map(cell, values))))
    return table


def cell(value: object) -> str:
    """A dash for what an arm without runs lacks."""
    if isinstance(value, float):
        return "–" if isnan(value) else digits(value)
    return printable(str(value))


def as_object(results: Results) -> dict:
    """The same for machines."""
    return {
        "benchmark": results.benchmark,
        "command": results.plan.command,
        "processes": next((score.log.run.ranks for score in results.scores.values()), 0),
        "hosts": sorted({host.name for score in results.scores.values() for host in score.log.run.hosts}),
        "runs": len(results.scores),
        "first": results.plan.first,
        "holds": results.holds,
        "obstacles": results.obstacles,
        "verdicts": [asdict(each) for each in results.verdicts],
        "control": [asdict(each) for each in results.control],
        "differences": [asdict(each) for each in results.differences],
        "noise": noise(results),
        "qualifications": qualifications(results),
        "failed": [{"run": run.folder, "problem": run.problem} for run in results.failed],
        "median_ratios": {arm: dict(values) for arm, values in medians(results).items()},
    }
