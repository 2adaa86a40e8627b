# SPDX-License-Identifier: Apache-2.0
"""Relations between clauses: the ratio of two values, how well a larger size uses its processes, and the largest of
several values, which is how the b_eff_io of a system is defined."""

from collections.abc import Mapping
from dataclasses import dataclass

RATIO, SCALING, LARGEST = KINDS = "ratio", "scaling_efficiency", "largest"
SINCE = "baseline"  # a clause and its value in an earlier acceptance


@dataclass(frozen=True)
class Relation:
    """The value of the first clause divided by that of the second. For the scaling efficiency, each value is divided by
    the clause's number of processes first. LARGEST is the largest value of all clauses. `floor` and `ceiling` are None
    if there is no such bound. `unit` is that of the clauses for LARGEST, otherwise "1"."""

    name: str
    kind: str
    clauses: tuple[str, ...]
    floor: float | None
    ceiling: float | None
    unit: str = "1"

    @property
    def limits(self) -> tuple[float | None, float | None]:
        return self.floor, self.ceiling


def kind_and_clauses(content: dict) -> tuple[str, list[str]]:
    kind = next(kind for kind in KINDS if kind in content)
    return kind, content[kind] if kind == LARGEST else [content[kind]["of"], content[kind]["to"]]


def relation_of(content: dict, units: Mapping[str, str]) -> Relation:
    """`units` are those of the clauses by name."""
    kind, names = kind_and_clauses(content)
    unit = units[names[0]] if kind == LARGEST else "1"
    return Relation(content["relation"], kind, tuple(names), content.get("floor"), content.get("ceiling"), unit)


def problem_of(relation: dict, clauses: Mapping[str, dict]) -> tuple[str, str] | None:
    """The key of a relation, and why it cannot be evaluated with these clauses, by name; None if it can."""
    kind, names = kind_and_clauses(relation)
    for name in names:
        if name not in clauses:
            return kind, f"there is no clause {name!r:.80}"
        if clauses[name].get("sequential"):
            return kind, f"clause {name!r:.80} is sequential, and a relation needs the values of all runs"
    of, *others = (clauses[name] for name in names)
    for to in others:
        if of["unit"] != to["unit"]:
            return kind, f"its clauses have different units, {of['unit']!r:.80} and {to['unit']!r:.80}"
        if kind != RATIO and (of["benchmark"], of["metric"]) != (to["benchmark"], to["metric"]):
            return kind, "its clauses are on different metrics"
    if kind == SCALING and of["metric"].endswith("_per_process"):
        return kind, f"{of['metric']} is per process already: write ratio"
    if kind == SCALING and of["size"]["processes"] <= others[0]["size"]["processes"]:
        return kind, "`of` has to be the clause with more processes"
    return None
