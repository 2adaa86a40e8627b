# SPDX-License-Identifier: Apache-2.0
"""What is to be compared: the arms of a comparison, and how long it may go on. A file in YAML states it, or the options
of `coffeecup compare`."""

import re
import shlex
from collections.abc import Iterable
from itertools import dropwhile, takewhile
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec

from coffeecup.postprocess.logs import trees
from coffeecup.postprocess.show.words import counted, printable
from coffeecup.postprocess.statistics.pairs import fewest_pairs

CONTROL = "control"  # the arm that is the first one once more
MINIMUM = 0.03  # the smallest difference that matters, usually
ARM_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
LONGEST_NAME = 64  # of an arm, in characters
VARIABLE = "[A-Za-z_][A-Za-z0-9_]*"
ASSIGNMENT = re.compile(f"({VARIABLE})=(.*)", re.DOTALL)
Word = Annotated[str, msgspec.Meta(pattern=r"^[^\0\ud800-\udfff]*$")]  # which a program can get and JSON can hold
REMEDIES = {  # what follows a message of msgspec that matches
    "^Expected `str.*`, got `(int|float|bool)`": 'quote what is text, such as "4" or "on"',
    "environment`$": "a variable is NAME: VALUE, or NAME: null, which unsets it",
    "udfff": "it must be UTF-8 without null characters",
}


class PlanError(ValueError):
    """A comparison that cannot be made: one sentence."""


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of the things that are compared. Each of its fields is added to what all arms have; null unsets a variable.
    `command` takes the place of that of all arms."""

    environment: dict[Annotated[str, msgspec.Meta(pattern=f"^{VARIABLE}$")], Word | None] = {}
    modules: list[Word] = []
    options: list[Word] = []
    command: list[Word] | None = None

    @property
    def changes(self) -> set[str]:
        """The names of the fields in which it differs from what all arms have."""
        return {name for name in self.__struct_fields__ if getattr(self, name)}


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`pairs` are the most runs of each arm. `minimum` is the fraction below which a difference does not matter.
    `metrics` are judged, by default the first one of the benchmark. `seed` is that of the order. `run_limit` are
    the seconds after which a run is ended; None leaves them to the runs of earlier."""

    command: Annotated[list[Word], msgspec.Meta(min_length=1)]
    arms: dict[Annotated[str, msgspec.Meta(pattern=ARM_NAME, max_length=LONGEST_NAME)], Arm]
    pairs: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    minimum: Annotated[float, msgspec.Meta(gt=0, lt=1)] = MINIMUM
    metrics: list[str] = []
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    run_limit: Annotated[float, msgspec.Meta(gt=0)] | None = None

    def __post_init__(self):
        if len(self.arms) < 2:
            raise ValueError("at least two arms are compared")
        if CONTROL in self.arms:
            raise ValueError(f"`{CONTROL}` is the name of the arm that runs the first one once more")
        if len({msgspec.json.encode(arm) for arm in self.arms.values()}) < len(self.arms):
            raise ValueError("two arms are the same")
        if self.pairs < (needed := fewest_pairs(self.hypotheses)):
            raise ValueError(
                f"{counted(self.hypotheses, 'difference')} cannot be judged from fewer than {needed} pairs"
            )

    @property
    def first(self) -> str:
        """The arm with which the others are compared."""
        return next(iter(self.arms))

    @property
    def others(self) -> list[str]:
        return [name for name in self.arms if name != self.first]

    @property
    def hypotheses(self) -> int:
        return len(self.others) * max(len(self.metrics), 1)

    def arm(self, name: str) -> Arm:
        return self.arms[self.first if name == CONTROL else name]

    def order(self, block: int) -> list[str]:
        """The arms in the order of a block, each once. Of two blocks the second is the reverse of the first, which is
        random, so that what changes steadily with time favours no arm."""
        names = [*self.arms, CONTROL]
        Random(f"{self.seed} {block // 2}").shuffle(names)
        return names[::-1] if block % 2 else names


def read_plan(path: Path) -> Plan:
    """The plan of a file, in which a command is a list of words, or a text that is split as in a shell. Raises
    PlanError."""
    try:
        stated, _ = trees.read(path)
        arms = stated.get("arms") if isinstance(stated, dict) else None
        for part in (stated, *(arms.values() if isinstance(arms, dict) else ())):
            if isinstance(part, dict) and isinstance(part.get("command"), str):
                part["command"] = shlex.split(part["command"])
        return converted(stated)
    except ValueError as error:
        raise PlanError(printable(f"{path}: {error}")) from None


def arm_of(text: str) -> tuple[str, Arm]:
    """Name and arm of NAME=SETTINGS: first assignments of variables, then options of the command, quoted as in a shell.
    Raises PlanError."""
    name, equals, settings = text.partition("=")
    try:
        words = shlex.split(settings)
        if not equals or not re.match(ARM_NAME, name):
            raise ValueError("an arm is NAME=SETTINGS, a name of letters, digits, '.', '_' and '-'")
    except ValueError as error:
        raise PlanError(f"--arm {printable(text)!r}: {error}") from None
    matches = takewhile(bool, map(ASSIGNMENT.fullmatch, words))
    environment: dict[str, str | None] = {match[1]: match[2] for match in matches if match}
    options = dropwhile(ASSIGNMENT.fullmatch, words)
    return name, Arm(environment=environment, options=[*options])


def plan_of(command: list[str], arms: Iterable[str], **settings) -> Plan:
    """The plan that options state. Raises PlanError."""
    named = [arm_of(text) for text in arms]
    if len(dict(named)) < len(named):
        raise PlanError("--arm: two arms have the same name")
    return converted({"command": command, "arms": {name: msgspec.to_builtins(arm) for name, arm in named}, **settings})


def changed(plan: Plan, **settings) -> Plan:
    """The plan with other values of these fields. Raises PlanError."""
    return converted(msgspec.to_builtins(plan) | settings)


def converted(stated: Any) -> Plan:
    try:
        return msgspec.convert(stated, Plan)
    except ValueError as error:
        remedies = [remedy for pattern, remedy in REMEDIES.items() if re.search(pattern, str(error))]
        raise PlanError(": ".join([str(error), *remedies])) from None
