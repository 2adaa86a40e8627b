# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison: from the logs of its runs to verdicts, and what speaks against them."""

from collections import Counter
from collections.abc import Mapping
from math import exp
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.comparison.arms import (
    BUILDS,
    ENVIRONMENT,
    HOSTS,
    LIBRARY,
    Change,
    Difference,
    changes,
    differences,
    hosts_of,
    may_change,
    not_arrived,
)
from coffeecup.postprocess.comparison.plan import CONTROL, Plan, PlanError
from coffeecup.postprocess.comparison.verdicts import Verdict, in_words, ratios, verdict
from coffeecup.postprocess.logs import paths
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import printable
from coffeecup.postprocess.statistics.pairs import looks

LARGEST_FILE = 2**20  # byte
CERTAIN = 3  # blocks: fewer do not tell a property of the arms from what changes from run to run


class Run(msgspec.Struct, frozen=True):
    """A run that ended. `problem` is why it failed."""

    block: int
    arm: str
    seconds: float
    problem: str | None = None

    @property
    def folder(self) -> str:
        """The name of its folder, in that of the comparison."""
        return f"{self.block + 1:04d}-{self.arm}"


class Comparison(msgspec.Struct, frozen=True):
    """What a comparison came to: these attributes of its Results, as docs/json-scores.md describes them."""

    plan: Plan
    benchmark: str
    processes: int
    hosts: list[str]
    runs: int
    holds: bool
    obstacles: list[str]
    verdicts: list[Verdict]
    control: list[Verdict]
    differences: list[Difference]
    changes: list[Change]
    without_effect: list[str]
    noise: dict[str, float]
    qualifications: dict[str, dict[str, int]]
    failed: list[Run]
    median_ratios: dict[str, dict[str, float]]


def read_comparison(path: Path) -> Comparison:
    """The result.json of a comparison. Raises PlanError."""
    try:
        return msgspec.json.decode(paths.content(path, LARGEST_FILE), type=Comparison)
    except (OSError, ValueError, RecursionError) as error:
        raise PlanError(printable(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")) from None


class Results:
    """The runs of a plan that ended so far, the scores of those that did not fail by block and arm, and what follows
    from them."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.ended: list[Run] = []
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
    def comparison(self) -> Comparison:
        return msgspec.convert(self, Comparison, from_attributes=True)

    @property
    def benchmark(self) -> str:
        """Empty if no run has a score."""
        return next((score.benchmark for score in self.scores.values()), "")

    @property
    def processes(self) -> int:
        return next((score.log.run.ranks for score in self.scores.values()), 0)

    @property
    def hosts(self) -> list[str]:
        return sorted({host.name for score in self.scores.values() for host in score.log.run.hosts})

    @property
    def runs(self) -> int:
        """How many have a score."""
        return len(self.scores)

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.ended if run.problem]

    @property
    def judged(self) -> list[str]:
        """The metrics that are judged: without any in the plan, the headline of the first run. None without runs."""
        return (self.plan.metrics or [next(iter(self.scores.values())).headline[0]]) if self.scores else []

    @property
    def blocks(self) -> int:
        """The blocks until the last one that has a score."""
        return 1 + max((block for block, _ in self.scores), default=-1)

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
    def median_ratios(self) -> dict[str, dict[str, float]]:
        """By arm and metric, the median ratio to the first arm, with no claim; without what no block has of both."""
        table, first = self.metrics(self.blocks), self.plan.first
        names = [name for name in table.columns if name not in ("block", "arm")]
        return {
            arm: {name: exp(np.median(logs)) for name in names if len(logs := ratios(table, name, arm, first))}
            for arm in (*self.plan.others, CONTROL)
        }

    @property
    def noise(self) -> dict[str, float]:
        """By how much a run of the first arm and one of the control differ, by metric that is judged: the median
        fraction over the blocks. Without a metric of which no block has both."""
        table, first = self.metrics(self.blocks), self.plan.first
        logs = {name: np.abs(ratios(table, name, CONTROL, first)) for name in self.judged}
        return {name: exp(np.median(values)) - 1 for name, values in logs.items() if len(values)}

    @property
    def qualifications(self) -> dict[str, dict[str, int]]:
        """How many runs of each arm have a qualification, by its key; without the rules of the paper."""
        found: dict[str, Counter[str]] = {}
        for (_, arm), score in self.scores.items():
            for each in score.qualifications[len(score.breaches) :]:
                found.setdefault(each.key, Counter())[arm] += 1
        return {key: dict(found[key]) for key in sorted(found)}

    @property
    def differences(self) -> list[Difference]:
        return differences(self.plan, [(arm, score.log) for (_, arm), score in self.scores.items()])

    @property
    def changes(self) -> list[Change]:
        return changes({place: score.log for place, score in self.scores.items()})

    @property
    def without_effect(self) -> list[str]:
        """The arms that were judged and are not different, and whose logs differ from those of the first arm in
        variables alone."""
        first, seen = self.plan.first, {each.arm for each in self.verdicts if each.differs}
        for each in self.differences:
            if not each.fact.startswith(ENVIRONMENT):
                seen |= {arm for arm, value in each.values.items() if value != each.values.get(first)}
        return [arm for arm in self.plan.others if arm in {each.arm for each in self.verdicts} - seen]

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
    def obstacles(self) -> list[str]:
        """Why there is no verdict, whatever the figures are."""
        first = self.plan.first
        unnamed = [
            f"the arms differ in {each.fact}, which the plan does not name: {of_each(each.values)}"
            for each in self.differences
            if not each.explained and each.fact != HOSTS
        ]
        unlike_itself = [
            f"{first} differs from itself ({in_words(each, first)}): the order of the runs has an effect, or others "
            "disturbed it"
            for each in self.control
            if each.differs
        ]
        mixed = [
            f"{in_blocks(each)}: compare in another folder" for each in self.changes if each.fact in (*BUILDS, LIBRARY)
        ]
        apart = [f"{self.apart}: start all runs in one allocation, such as that of salloc"] if self.apart else []
        return apart + mixed + unnamed + unlike_itself

    @property
    def is_over(self) -> bool:
        """Whether everything is decided, or never will be."""
        return self.decided or bool(self.apart) or (self.blocks >= CERTAIN and bool(self.obstacles))

    @property
    def holds(self) -> bool:
        """Whether everything is decided, and nothing speaks against it."""
        return self.decided and not self.failed and not self.obstacles


def of_each(values: Mapping[str, str]) -> str:
    """A fact of each arm in words."""
    return ", ".join(f"{arm} has {value or 'nothing'}" for arm, value in values.items())


def in_blocks(change: Change) -> str:
    """A fact that changed in words."""
    values = ", ".join(f"{value or 'nothing'} from block {block} on" for block, value in change.values.items())
    return f"{change.fact} of {', '.join(change.arms)} changed: {values}"
