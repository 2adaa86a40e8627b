# SPDX-License-Identifier: Apache-2.0
"""The plan of a contract (acceptance.plan) as text, as JSON and as a figure."""

import math
from collections.abc import Iterator

import pandas as pd
import yaml

from coffeecup.postprocess.acceptance.contract import Clause
from coffeecup.postprocess.acceptance.plan import ANY_PRICE, Plan, Proposal
from coffeecup.postprocess.acceptance.risk import Assumed, Chance
from coffeecup.postprocess.reports.risks import AXES, WHOLE, assumptions, characteristic, parts, passed_of, percent
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, printable

WIDTH = 116


def risks_of(plan: Plan, chances: list[Chance], name: str | None) -> dict[str, tuple[float, float, float]]:
    """How often a clause, or the whole contract (None), fails at the bounds and passes below: fractions, each with the
    ends of its interval. Empty without chances."""
    found = {one.percent_better: one for one in chances if one.clause == name}
    if not found:
        return {}
    good, slow = found[0.0], found[-plan.wanted.below]
    return {
        "fails_at_bound": (1 - good.passes, 1 - good.passes_high, 1 - good.passes_low),
        "passes_below": (slow.passes, slow.passes_low, slow.passes_high),
    }


def in_percent(risks: dict[str, tuple[float, float, float]]) -> list[str]:
    return [f"{percent(risk)} ({percent(low)}-{percent(high)})" for risk, low, high in risks.values()] or ["", ""]


def text(plan: Plan, assumed: Assumed) -> str:
    """Two rows for each part of the contract, as agreed and as proposed, and the lines of the proposal."""
    table = simple_table("clause")
    table.add_column("")
    for heading in ("runs", "statistic", "guard band, %", "fail at bound, %", f"pass {plan.wanted.below:g} % below, %"):
        table.add_column(heading, justify="right")
    table.add_column("node hours", justify="right")
    for one in plan.proposals:
        table.add_row(printable(one.clause.name), *row_of(plan, "as agreed", one.clause, plan.agreed))
        if one.proposed:
            table.add_row("", *row_of(plan, "proposed", one.proposed, plan.proposed))
    for label, chances in (("as agreed", plan.agreed), ("proposed", plan.proposed)):
        name = WHOLE if chances is plan.agreed else ""
        if chances and None in parts(plan.agreed):
            risks = in_percent(risks_of(plan, chances, None))
            table.add_row(name, label, "", "", "", *risks, hours(plan.cost(chances is plan.proposed)))
    wanted = plan.wanted
    title = (
        f"{printable(plan.contract.title)}: at most {percent(wanted.supplier)} % fail at the bounds, and at most "
        f"{percent(wanted.centre)} % pass a clause {wanted.below:g} % below its bound (95 % intervals)"
    )
    lines = [*assumptions(assumed, plan.contract), *few(assumed.noise.nights), *limits(plan)]
    return rendered(title, table, width=WIDTH) + "\n".join(map(printable, lines)) + f"\n\n{yaml_lines(plan)}"


def row_of(plan: Plan, label: str, clause: Clause, chances: list[Chance]) -> list[str]:
    risks = in_percent(risks_of(plan, chances, clause.name))
    guard = f"{clause.guard_band:g}" if clause.guard_band else "-"
    cost = hours(clause.repetitions * plan.node_hours[clause.name])
    return [label, str(clause.repetitions), clause.statistic, guard, *risks, cost]


def hours(value: float) -> str:
    return f"{value:,.4g}" if value else "-"


def few(nights: int) -> Iterator[str]:
    """What so many recorded nights tell."""
    if nights:
        yield (
            f"The noise is known from {counted(nights, 'night')} only: the risks are those in these nights, and a "
            "proposal keeps the wanted ones on average over such records if neighbouring nights hardly depend on each "
            "other and nearly every record has a proposal. The true ones can be anywhere in the intervals, which more "
            "nights narrow."
        )


def limits(plan: Plan) -> Iterator[str]:
    """What no number of runs reaches, one sentence for each clause."""
    for one in plan.proposals:
        if one.proposed is None:
            yield f"{one.clause.name}: {limit(one, plan)}"


def limit(one: Proposal, plan: Plan) -> str:
    affordable, more = one.smallest
    if affordable == more == math.inf:
        return (
            "good machines scatter more than its `variation` or `every_run` allows, more often than the supplier's "
            "risk: no number of runs and no guard band helps. Allow more scatter, or repair its cause."
        )
    most = plan.wanted.most_runs
    tell = f"{counted(most, 'run')} {'tells' if most == 1 else 'tell'}"
    with_most = f"{tell} a machine {affordable:.2g} % below from a good one"
    if more <= plan.wanted.below:
        return f"{with_most}: allow more runs (--most-runs), or a larger difference (--below)."
    return (
        f"{with_most}, and {ANY_PRICE} runs one {more:.2g} % below: no price reaches {plan.wanted.below:g} %. Divide "
        "the runs among more sessions (--sessions), repair the cause of the noise, or accept a larger difference "
        "(--below)."
    )


def yaml_lines(plan: Plan) -> str:
    """The lines of the contract that change, with its bounds as they were agreed."""
    changed = [
        {"clause": one.clause.name}
        | {key: value for key in ("floor", "ceiling") if (value := getattr(one.clause, key)) is not None}
        | ({"guard_band": one.proposed.guard_band} if one.proposed.guard_band else {})
        | {"repetitions": one.proposed.repetitions, "statistic": one.proposed.statistic}
        for one in plan.proposals
        if one.proposed
    ]
    return yaml.safe_dump({"clauses": changed}, sort_keys=False, allow_unicode=True) if changed else ""


def as_object(plan: Plan, assumed: Assumed) -> dict:
    """The plan with all that was assumed, for --json."""

    def risks(chances: list[Chance], name: str | None) -> dict:
        found = risks_of(plan, chances, name)
        ends = {f"{key}_interval": [low, high] for key, (_, low, high) in found.items()}
        return {key: risk for key, (risk, *_) in found.items()} | ends

    def stated(clause: Clause, chances: list[Chance]) -> dict:
        keys = ("repetitions", "statistic", "guard_band")
        return {key: getattr(clause, key) for key in keys} | risks(chances, clause.name)

    return {
        "contract": plan.contract.title,
        "contract_sha256": plan.contract.sha256,
        "noise": assumed.noise.words,
        "remarks": list(assumed.noise.remarks),
        "supplier": plan.wanted.supplier,
        "centre": plan.wanted.centre,
        "percent_below": plan.wanted.below,
        "most_runs": plan.wanted.most_runs,
        "agreed": risks(plan.agreed, None) | {"node_hours": plan.cost(proposed=False)},
        "proposed": risks(plan.proposed, None) | {"node_hours": plan.cost(proposed=True)} if plan.proposed else None,
        "limits": list(limits(plan)),
        "clauses": [
            {
                "clause": one.clause.name,
                "floor": one.clause.floor,
                "ceiling": one.clause.ceiling,
                "agreed": stated(one.clause, plan.agreed),
                "proposed": one.proposed and stated(one.proposed, plan.proposed),
            }
            for one in plan.proposals
        ],
    }


def figure(plan: Plan) -> Figure:
    """The operating characteristics of the whole contract, as agreed and as proposed."""
    data = pd.DataFrame(
        [
            (label, better, 100 * passes)
            for label, chances in (("as agreed", plan.agreed), ("proposed", plan.proposed))
            for better, passes in passed_of(chances, None).items()
        ],
        columns=["contract", *AXES],
    )
    description = (
        "How many acceptances pass for a machine whose true values are so much better or worse than the bounds: by the "
        "contract as it is, and as `coffeecup accept plan` proposes it. The dotted line is the slow machine that has "
        "to fail."
    )
    drawn = characteristic(data, [(plots.VERMILION, "o"), (plots.BLUE, "s")], -plan.wanted.below)
    return Figure("plan", "Contract as agreed and as proposed", description, data, drawn)
