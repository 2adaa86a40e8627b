# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison: from the logs of its runs to verdicts, and to text, JSON and figures."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, isnan
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.comparison.arms import Difference, differences, not_arrived
from coffeecup.postprocess.comparison.plan import CONTROL, Plan, PlanError
from coffeecup.postprocess.comparison.verdicts import Verdict, in_words, ratios, risk_in_words, verdict
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable
from coffeecup.postprocess.statistics.pairs import looks

CERTAIN = 3  # blocks


class Failed(Protocol):
    """A run that failed (cli.alternation.Run)."""

    @property
    def arm(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def problem(self) -> str | None: ...


class Results:
    """The scores of a comparison's runs, while they come in."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.scores: dict[tuple[int, str], Score] = {}

    def add(self, block: int, arm: str, path: Path) -> str | None:
        """Adds the run of an arm in a block; returns why its log cannot be used. Raises PlanError if no run of the plan
        can be judged."""
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
        return next(iter(self.scores.values())).benchmark

    @property
    def judged(self) -> list[str]:
        """The metrics that are judged: without any in the plan, the headline of the first run."""
        return self.plan.metrics or [next(iter(self.scores.values())).headline[0]]

    def value(self, block: int, arm: str, metric: str) -> float:
        return self.scores[block, arm].metrics[metric].value

    def metrics(self, blocks: int) -> pd.DataFrame:
        """Block, arm and all metrics of the runs of the first blocks."""
        return pd.DataFrame(
            [
                {"block": block, "arm": arm} | {name: metric.value for name, metric in score.metrics.items()}
                for (block, arm), score in self.scores.items()
                if block < blocks
            ]
        )

    def verdicts(self, blocks: int) -> list[Verdict]:
        """On each metric that is judged of each arm, after the last look at so many blocks; empty before the first."""
        planned = looks(self.plan.pairs, self.plan.hypotheses)
        if not (reached := [look for look in planned if look <= blocks]) or not self.scores:
            return []
        return self._of(self.plan.others, reached[-1], planned[reached[-1]])

    def control(self, blocks: int) -> list[Verdict]:
        """The same of the first arm's second run, whose true difference is none."""
        planned = looks(self.plan.pairs, len(self.judged)) if self.scores else {}
        reached = [look for look in planned if look <= blocks]
        return self._of([CONTROL], reached[-1], planned[reached[-1]]) if reached else []

    def _of(self, arms: list[str], blocks: int, risk: float) -> list[Verdict]:
        table, benchmark = self.metrics(blocks), benchmarks()[self.benchmark]
        return [
            verdict(
                arm,
                metric,
                ratios(table, metric, arm, self.plan.first),
                benchmark.metric(metric).better,
                self.plan.minimum,
                risk,
            )
            for arm in arms
            for metric in self.judged
        ]

    def is_over(self, blocks: int) -> bool:
        """Whether everything is decided, or never will be, since the arms differ in what the plan does not name. Fewer
        than CERTAIN blocks do not tell a property of the arms from what changes from run to run."""
        found = self.verdicts(blocks)
        decided = bool(found) and all(each.decided for each in found)
        return decided or (blocks >= CERTAIN and any(not each.explained for each in self.differences()))

    def differences(self) -> list[Difference]:
        return differences(self.plan, [(arm, score.log) for (_, arm), score in self.scores.items()])


@dataclass(frozen=True)
class Conclusion:
    """`shown` are the ratios of all metrics, medians of the pairs, with no claim."""

    plan: Plan
    benchmark: str
    runs: int
    verdicts: list[Verdict]
    control: list[Verdict]
    differences: list[Difference]
    failed: Sequence[Failed]
    shown: pd.DataFrame

    @property
    def unexplained(self) -> list[Difference]:
        return [each for each in self.differences if not each.explained]

    @property
    def obstacles(self) -> list[str]:
        """Why there is no verdict, whatever the figures are."""
        found = [
            f"the arms differ in {each.fact}, which the plan does not name: "
            + ", ".join(f"{arm} has {value or 'none'}" for arm, value in each.values.items())
            for each in self.unexplained
        ]
        found += [
            f"{self.plan.first} differs from itself ({in_words(each, self.plan.first)}): the order of the runs has an "
            "effect, or others disturbed it"
            for each in self.control
            if each.differs
        ]
        return found

    @property
    def holds(self) -> bool:
        """Whether everything is decided, and nothing speaks against it."""
        decided = bool(self.verdicts) and all(each.decided for each in self.verdicts)
        return decided and not self.failed and not self.obstacles


def conclude(plan: Plan, results: Results, failed: Sequence[Failed]) -> Conclusion:
    """What a comparison came to, after its last look."""
    blocks = 1 + max((block for block, _ in results.scores), default=-1)
    return Conclusion(
        plan=plan,
        benchmark=results.benchmark if results.scores else "",
        runs=len(results.scores),
        verdicts=results.verdicts(blocks),
        control=results.control(blocks),
        differences=results.differences(),
        failed=failed,
        shown=medians(plan, results, blocks),
    )


def medians(plan: Plan, results: Results, blocks: int) -> pd.DataFrame:
    """The median of an arm's ratios to the first one: a row per metric, a column per arm."""
    table = results.metrics(blocks)
    names = [name for name in table.columns if name not in ("block", "arm")]
    found = {
        arm: {name: exp(np.median(logs)) for name in names if len(logs := ratios(table, name, arm, plan.first))}
        for arm in (*plan.others, CONTROL)
    }
    return pd.DataFrame(found).rename_axis("metric")


def text(found: Conclusion) -> str:
    """For people at a terminal."""
    lines = [f"{found.benchmark or 'nothing'}: {counted(found.runs, 'run')} of {', '.join(found.plan.arms)} in turn"]
    lines += [f"No verdict: {obstacle}." for obstacle in found.obstacles]
    if not found.obstacles:
        lines += [f"{each.metric}, {in_words(each, found.plan.first)}" for each in found.verdicts]
        lines += [f"({risk_in_words()})"] if found.verdicts else ["Too few pairs to judge."]
    lines += [f"{run.folder} failed: {run.problem}" for run in found.failed]
    facts = pd.DataFrame({each.fact: each.values for each in found.differences}).T.rename_axis("fact")
    if found.runs and facts.empty:
        lines.append("The logs state no fact in which the arms differed: was a setting ignored?")
    tables = [(f"Median ratios to {found.plan.first}, not judged:", found.shown), ("In what the arms differed:", facts)]
    shown = [part for title, rows in tables if len(rows) for part in (Text(title), table(rows))]
    return "".join(f"{printable(line)}\n" for line in lines) + rendered(*shown)


def table(rows: pd.DataFrame) -> Table:
    """One line for each index; floats with their digits, all else as text."""
    drawn = simple_table(*map(str, (rows.index.name, *rows.columns)))
    for name, values in rows.iterrows():
        drawn.add_row(*map(Text, (str(name), *map(cell, values))))
    return drawn


def cell(value: object) -> str:
    """A dash for what an arm without runs lacks."""
    if isinstance(value, float):
        return "–" if isnan(value) else digits(value)
    return printable(str(value))


def as_object(found: Conclusion) -> dict:
    """The same for machines."""
    return {
        "benchmark": found.benchmark,
        "runs": found.runs,
        "first": found.plan.first,
        "holds": found.holds,
        "obstacles": found.obstacles,
        "verdicts": [asdict(each) for each in found.verdicts],
        "control": [asdict(each) for each in found.control],
        "differences": [asdict(each) for each in found.differences],
        "failed": [{"run": run.folder, "problem": run.problem} for run in found.failed],
        "median_ratios": {arm: dict(values) for arm, values in found.shown.items()},
    }
