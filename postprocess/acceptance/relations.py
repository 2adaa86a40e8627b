# SPDX-License-Identifier: Apache-2.0
"""Relations between two clauses: the ratio of their values, and how well a larger size uses its processes."""

from collections.abc import Mapping
from dataclasses import dataclass

RATIO, SCALING = "ratio", "scaling_efficiency"


@dataclass(frozen=True)
class Relation:
    """The value of clause `of` divided by that of clause `to`. For the scaling efficiency, each value is divided by the
    clause's number of processes first. `floor` and `ceiling` have no unit, None if there is no such bound."""

    name: str
    kind: str
    of: str
    to: str
    floor: float | None
    ceiling: float | None


def relation_of(content: dict) -> Relation:
    kind = next(kind for kind in (RATIO, SCALING) if kind in content)
    return Relation(
        content["relation"],
        kind,
        content[kind]["of"],
        content[kind]["to"],
        content.get("floor"),
        content.get("ceiling"),
    )


def problem_of(relation: dict, clauses: Mapping[str, dict]) -> tuple[str, str] | None:
    """The key of a relation, and why it cannot be evaluated with these clauses, by name; None if it can."""
    kind = next(kind for kind in (RATIO, SCALING) if kind in relation)
    for key in ("of", "to"):
        if relation[kind][key] not in clauses:
            return kind, f"there is no clause {relation[kind][key]!r:.80}"
    of, to = (clauses[relation[kind][key]] for key in ("of", "to"))
    if of["unit"] != to["unit"]:
        return kind, f"its clauses have different units, {of['unit']!r:.80} and {to['unit']!r:.80}"
    if kind == SCALING and (of["benchmark"], of["metric"]) != (to["benchmark"], to["metric"]):
        return kind, "its clauses are on different metrics"
    if kind == SCALING and of["metric"].endswith("_per_process"):
        return kind, f"{of['metric']} is per process already: write ratio"
    if kind == SCALING and of["size"]["processes"] <= to["size"]["processes"]:
        return kind, "`of` has to be the clause with more processes"
    return None
