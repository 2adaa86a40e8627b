# SPDX-License-Identifier: Apache-2.0
"""The best of many values of a setting by successive halving (Jamieson and Talwalkar, AISTATS 2016): few runs of each
value, the better half goes on, and the last one is compared with the default in runs of their own."""

from collections.abc import Iterable
from itertools import product
from math import ceil
from re import sub
from shlex import quote

import msgspec
import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.comparison.plan import ASSIGNMENT, LONGEST_NAME, Plan, PlanError, arm_of, plan_of
from coffeecup.postprocess.comparison.result import Comparison, Results
from coffeecup.postprocess.comparison.verdicts import Standing, ratios
from coffeecup.postprocess.show.words import printable
from coffeecup.postprocess.statistics.pairs import RISK, interval

DEFAULT = "default"  # the arm without any of the values
ROUND_BLOCKS = 3  # runs of each value in a round
BEST, FAILED, WORSE, ALIKE = "the best", "failed", "worse than the best", "not distinguishable from the best"
HINTS = "--hints "
STRIPES = {"striping_factor": "-c", "striping_unit": "-S"}  # options of lfs setstripe, by hint


def values_of(parameters: Iterable[str]) -> dict[str, str]:
    """The settings of each value of NAME=VALUE,VALUE,..., by a name for its arm; of several parameters, of all
    combinations. Raises PlanError."""
    stated: dict[str, list[tuple[str, str]]] = {}
    for text in sorted(parameters, key=lambda text: text.startswith("-")):  # variables come before options
        name, _, values = text.partition("=") if ASSIGNMENT.fullmatch(text) else text.rpartition("=")
        if not name or not all(values.split(",")):
            raise PlanError(f"--parameter {printable(text)!r}: a parameter is NAME=VALUE,VALUE,...")
        if name in stated:
            raise PlanError(f"--parameter: {printable(name)} occurs twice: state all its values in one")
        stated[name] = [(value, f"{name}={quote(value)}") for value in values.split(",")]
    combined = [[*zip(*each)] for each in product(*stated.values())]
    found = {
        sub("[^A-Za-z0-9._-]", "-", "-".join(values)).lstrip("._-"): joined(settings) for values, settings in combined
    }
    if len(found) < len(combined) or len(found) < 2 or DEFAULT in found or not all(found):
        raise PlanError(f"--parameter: at least two values are needed, of different names, none of them {DEFAULT!r}")
    if long := [settings for name, settings in found.items() if len(name) > LONGEST_NAME]:
        raise PlanError(f"--parameter: more than {LONGEST_NAME} characters of values, {printable(long[0])}: use --arm")
    return found


def joined(settings: Iterable[str]) -> str:
    """In one text. Kernels take the last --hints only."""
    hints = [setting.removeprefix(HINTS) for setting in settings if setting.startswith(HINTS)]
    others = [setting for setting in settings if not setting.startswith(HINTS)]
    return " ".join([*others, *([HINTS + ",".join(hints)] if hints else [])])


def plan_among(settings: dict[str, str], command: list[str], **stated) -> Plan:
    """The plan of a comparison of some values with the default. `stated` are the other fields of the plan. Raises
    PlanError."""
    return plan_of(command, [f"{DEFAULT}=", *(f"{name}={setting}" for name, setting in settings.items())], **stated)


class Found(msgspec.Struct, frozen=True):
    """What a search came to, as docs/json-scores.md describes it."""

    runs: int
    metric: str
    values: list[dict]
    recommended: list[str]
    confirmation: Comparison

    @property
    def holds(self) -> bool:
        return self.confirmation.holds


class Search:
    """`settings` are those of the values, by name; `left` those that are left after the rounds so far, best first, and
    `failed` those of which a run failed. `metrics` has block, arm and metrics of all runs; `metric` chooses."""

    def __init__(self, settings: dict[str, str], better: Better = Better.HIGHER):
        self.settings, self.better, self.metric = settings, better, ""
        self.left, self.failed = [*settings], set[str]()
        self.metrics = pd.DataFrame({"block": [], "arm": []})

    def add(self, metrics: pd.DataFrame, metric: str) -> None:
        """Adds a round: block, arm and metrics of its runs. A value of which a run failed is left out, the better half
        of the others stays."""
        self.metric, ran = metric, metrics.groupby("arm").size()
        self.failed |= {name for name in self.left if ran.get(name, 0) < ran.max()}
        first = self.metrics["block"].max() + 1 if len(self.metrics) else 0
        self.metrics = pd.concat([self.metrics, metrics.assign(block=metrics["block"] + first)], ignore_index=True)
        whole = [name for name in self.left if name not in self.failed]
        whole.sort(key=lambda name: self.sign * self.middle(name))
        self.left = whole[: ceil(len(whole) / 2)]

    @property
    def best(self) -> str:
        """The value that is left after the last round."""
        return self.left[0]

    @property
    def sign(self) -> int:
        """-1 if higher is better, which sorts the best first."""
        return -1 if self.better is Better.HIGHER else 1

    def middle(self, name: str) -> float:
        """The median logarithm of the ratio to the default, of all rounds of the value: of three, one may be wild."""
        return float(np.median(ratios(self.metrics, self.metric, name, DEFAULT)))

    def standing(self, name: str) -> str:
        """How a value compares with the best one, in the blocks in which both ran."""
        if name in self.failed or name == self.best:
            return FAILED if name in self.failed else BEST
        low, _, high = interval(ratios(self.metrics, self.metric, self.best, name), RISK / (len(self.settings) - 1))
        return WORSE if (low > 0 if self.better is Better.HIGHER else high < 0) else ALIKE

    def values(self) -> pd.DataFrame:
        """All values, the best one first, then those that went furthest, the better ones of a round first: value,
        setting, pairs, ratio to the default (NaN if a run failed) and standing."""
        rows = []
        for name, setting in self.settings.items():
            pairs = len(ratios(self.metrics, self.metric, name, DEFAULT))
            ratio = np.nan if name in self.failed else np.exp(self.middle(name))
            rows.append((name, setting, pairs, ratio, self.standing(name)))
        rows.sort(key=lambda row: (row[0] != self.best, row[0] in self.failed, -row[2], self.sign * row[3]))
        return pd.DataFrame(rows, columns=["value", "setting", "pairs", "ratio", "standing"])

    def found(self, runs: int, results: Results) -> Found:
        """What so many runs of the search came to, and those that compared the best value with the default: only if
        they confirm that it is better, it is recommended."""
        confirmed = results.comparison
        better = confirmed.holds and confirmed.verdicts[0].standing is Standing.BETTER and confirmed.verdicts[0].matters
        advice = recommendation(self.settings[self.best]) if better else []
        return Found(runs + len(results.ended), self.metric, self.values().to_dict("records"), advice, confirmed)


def recommendation(setting: str) -> list[str]:
    """How a site sets it: lines of a job script, of a module file, of a file of hints, or a command."""
    lines, (_, arm) = [], arm_of(f"{DEFAULT}={setting}")
    for name, value in arm.environment.items():
        lines.append(f"export {name}={quote(value or '')}    in a job script")
        lines.append(f'setenv("{name}", "{value}")    in a module file of Lmod')
    for before, option in zip(["", *arm.options], arm.options):
        if before != HINTS.strip():
            lines += [f"the option {option}"] if option != HINTS.strip() else []
            continue
        for key, _, value in (hint.partition("=") for hint in option.split(",")):
            lines.append(f"{key} {value}    in the file of hints that ROMIO_HINTS names, or as MPI_Info of the program")
            if key in STRIPES:
                command = f"lfs setstripe {STRIPES[key]} {value} DIRECTORY"
                lines.append(f"{command}    for new files of a directory on Lustre")
    return lines
