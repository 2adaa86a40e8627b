# SPDX-License-Identifier: Apache-2.0
"""The best of many values of a setting by successive halving (Jamieson and Talwalkar, AISTATS 2016): few runs of each
value, the better half goes on, and the last one is compared with the default in runs of their own."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from math import ceil, exp
from re import sub

import numpy as np
import pandas as pd
from rich.text import Text

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.comparison import result
from coffeecup.postprocess.comparison.plan import ASSIGNMENT, Plan, PlanError, arm_of, plan_of
from coffeecup.postprocess.comparison.verdicts import Standing, ratios
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable
from coffeecup.postprocess.statistics.pairs import RISK, interval

DEFAULT = "default"  # the arm without any of the values
ROUND_BLOCKS = 3  # runs of each value in a round
BEST, FAILED, WORSE, ALIKE = "the best", "failed", "worse than the best", "not distinguishable from the best"


def values_of(parameters: Iterable[str]) -> dict[str, str]:
    """The settings of each value of NAME=VALUE,VALUE,..., by a name for its arm; of several parameters, of all
    combinations. Raises PlanError."""
    stated = []
    for text in sorted(parameters, key=lambda text: text.startswith("-")):  # variables come before options
        name, _, values = text.partition("=") if ASSIGNMENT.fullmatch(text) else text.rpartition("=")
        if not name or not all(values.split(",")):
            raise PlanError(f"--parameter {printable(text)!r}: a parameter is NAME=VALUE,VALUE,...")
        stated.append([(value, f"{name}={value}") for value in values.split(",")])
    chosen = [*product(*stated)]
    found = {
        sub("[^A-Za-z0-9._-]", "-", "-".join(value for value, _ in each)).lstrip("._-"): " ".join(
            setting for _, setting in each
        )
        for each in chosen
    }
    if len(found) < len(chosen) or len(found) < 2 or DEFAULT in found or not all(found):
        raise PlanError(f"--parameter: at least two values are needed, of different names, none of them {DEFAULT!r}")
    return found


def plan_among(settings: dict[str, str], command: list[str], **stated) -> Plan:
    """The plan of a comparison of some values with the default. `stated` are the other fields of the plan. Raises
    PlanError."""
    return plan_of(command, [f"{DEFAULT}=", *(f"{name}={setting}" for name, setting in settings.items())], **stated)


@dataclass
class Search:
    """The values that are left after the rounds so far, best first; `metrics` has block, arm and metrics of all."""

    settings: dict[str, str]
    better: Better = Better.HIGHER
    left: list[str] = field(default_factory=list)
    rounds: dict[str, int] = field(default_factory=dict)  # that a value took part in
    failed: set[str] = field(default_factory=set)
    metrics: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({"block": [], "arm": []}))

    def __post_init__(self):
        self.left = [*self.settings]

    def add(self, metrics: pd.DataFrame, metric: str) -> None:
        """Adds a round: block, arm and metrics of its runs. A value of which a run failed is left out, the better half
        of the others stays."""
        ran = metrics.groupby("arm").size()
        self.rounds |= {name: self.rounds.get(name, 0) + 1 for name in self.left}
        self.failed |= {name for name in self.left if ran.get(name, 0) < ran.max()}
        first = self.metrics["block"].max() + 1 if len(self.metrics) else 0
        self.metrics = pd.concat([self.metrics, metrics.assign(block=metrics["block"] + first)], ignore_index=True)
        whole = [name for name in self.left if name not in self.failed]
        whole.sort(key=lambda name: self.sign * self.middle(name, metric))
        self.left = whole[: ceil(len(whole) / 2)]

    @property
    def sign(self) -> int:
        """-1 if higher is better, which sorts the best first."""
        return -1 if self.better is Better.HIGHER else 1

    def middle(self, name: str, metric: str) -> float:
        """The median logarithm of the ratio to the default, of all rounds of the value: of three, one may be wild."""
        return float(np.median(ratios(self.metrics, metric, name, DEFAULT)))

    def standing(self, name: str, metric: str) -> str:
        """How a value compares with the best one, in the blocks in which both ran."""
        if name in self.failed:
            return FAILED
        [best] = self.left
        if name == best:
            return BEST
        low, _, high = interval(ratios(self.metrics, metric, best, name), RISK / (len(self.settings) - 1))
        return WORSE if (low > 0 if self.better is Better.HIGHER else high < 0) else ALIKE


@dataclass(frozen=True)
class Value:
    """A value of the search: its ratio to the default in `pairs` pairs, None if it failed."""

    value: str
    setting: str
    pairs: int
    ratio: float | None
    standing: str


def values(search: Search, metric: str) -> list[Value]:
    """All values, those that went furthest first, the better ones of a round first."""
    found = []
    for name, setting in search.settings.items():
        ratio = None if name in search.failed else exp(search.middle(name, metric))
        pairs = ROUND_BLOCKS * search.rounds[name]
        found.append(Value(name, setting, pairs, ratio, search.standing(name, metric)))
    return sorted(found, key=lambda each: (each.standing != BEST, -each.pairs, search.sign * (each.ratio or 0)))


def text(search: Search, metric: str, runs: int, confirmed: result.Conclusion) -> str:
    """For people at a terminal: all values, the comparison that confirms the best one, and how to set it."""
    found = values(search, metric)
    drawn = simple_table("value", "pairs", f"{metric}, ratio to {DEFAULT}", "")
    for each in found:
        ratio = digits(each.ratio) if each.ratio else "-"
        drawn.add_row(*map(Text, (printable(each.value), str(each.pairs), ratio, each.standing)))
    grid = confirmed.plan.pairs * (len(search.settings) + 2)
    heading = f"The best of {len(search.settings)} values, after {counted(runs, 'run')} (a full grid has {grid}):"
    advice = recommendation(search.settings[search.left[0]]) if is_better(confirmed) else []
    lines = ["Set it with", *(f"    {line}" for line in advice)] if advice else ["No reason to change the default."]
    return rendered(Text(heading), drawn) + result.text(confirmed) + "".join(f"{printable(line)}\n" for line in lines)


def as_object(search: Search, metric: str, runs: int, confirmed: result.Conclusion) -> dict:
    """The same for machines."""
    setting = search.settings[search.left[0]]
    return {
        "runs": runs,
        "metric": metric,
        "values": [asdict(each) for each in values(search, metric)],
        "recommended": recommendation(setting) if is_better(confirmed) else [],
        "confirmation": result.as_object(confirmed),
    }


def is_better(confirmed: result.Conclusion) -> bool:
    """Whether the comparison confirms that the best value is better than the default."""
    return confirmed.holds and confirmed.verdicts[0].standing is Standing.BETTER and confirmed.verdicts[0].matters


def recommendation(setting: str) -> Sequence[str]:
    """How a site sets it: lines of a job script, of a module file, of a file of hints, or a command."""
    _, arm = arm_of(f"{DEFAULT}={setting}")
    lines = [line for name, value in arm.environment.items() for line in variable_lines(name, value or "")]
    options = [*arm.options]
    while options:
        option = options.pop(0)
        if option != "--hints" or not options:
            lines.append(f"the option {option}")
            continue
        key, _, value = options.pop(0).partition("=")
        lines.append(f"{key} {value}    in the file of hints that ROMIO_HINTS names, or as MPI_Info of the program")
        if stripe := {"striping_factor": "-c", "striping_unit": "-S"}.get(key):
            lines.append(f"lfs setstripe {stripe} {value} DIRECTORY    for new files of a directory on Lustre")
    return lines


def variable_lines(name: str, value: str) -> list[str]:
    return [f"export {name}={value}    in a job script", f'setenv("{name}", "{value}")    in a module file of Lmod']
