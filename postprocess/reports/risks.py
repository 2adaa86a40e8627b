# SPDX-License-Identifier: Apache-2.0
"""The risks of a contract (acceptance.risk) as text, as JSON and as a figure."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import matplotlib
import pandas as pd

from coffeecup.postprocess.acceptance.contract import Contract
from coffeecup.postprocess.acceptance.risk import Assumed, Chance
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, printable

WHOLE = "whole contract"
WIDTH = 128  # nine intervals and a name
AXES = ["percent_better", "passes_percent"]


def percent(value: float) -> str:
    """A fraction in percent, in digits."""
    return f"{100 * value:.1f}"


def assumptions(assumed: Assumed, contract: Contract) -> Iterator[str]:
    """What the probabilities depend on, one sentence each."""
    noise = assumed.noise
    yield f"Noise: {noise.words}."
    if noise.repeated:
        yield f"The runs of an acceptance come from {counted(assumed.sessions, 'session')}."
    yield (
        f"{100 * assumed.refused:g} % of the runs are refused and repeated; the contract allows "
        f"{contract.refused_runs}."
    )
    yield from (f"Note: {remark}." for remark in noise.remarks)


def text(contract: Contract, assumed: Assumed, chances: list[Chance]) -> str:
    """The probabilities in percent: two rows for each part of the contract, the second one with the intervals."""
    table = simple_table("true value better by, %")
    for better in dict.fromkeys(chance.percent_better for chance in chances):
        table.add_column(f"{better:g}", justify="right", no_wrap=True)
    for name in parts(chances):
        row = [chance for chance in chances if chance.clause == name]
        table.add_row(printable(name or WHOLE), *(percent(chance.passes) for chance in row))
        intervals = (f"{percent(chance.passes_low)}-{percent(chance.passes_high)}" for chance in row)
        table.add_row("", *(interval.replace("100.0", "100") for interval in intervals))
        if any(clause.name == name and clause.sequential for clause in contract.clauses):
            table.add_row("mean runs", *(f"{chance.runs:.1f}" for chance in row))
    lines = [*map(printable, assumptions(assumed, contract)), *summary(chances)]
    title = f"{printable(contract.title)}: probability to pass in percent, below it the 95 % interval"
    return rendered(title, table, width=WIDTH) + "\n".join(lines) + "\n"


def parts(chances: list[Chance]) -> list[str | None]:
    """The clauses by name, and the whole contract (None) unless it repeats the only clause."""
    first, *others = dict.fromkeys(chance.clause for chance in chances)
    return [first] if others == [None] and passed_of(chances, first) == passed_of(chances, None) else [first, *others]


def passed_of(chances: list[Chance], clause: str | None) -> dict[float, float]:
    """How often a clause, or the whole contract (None), passes, by how many percent the machine is better."""
    return {chance.percent_better: chance.passes for chance in chances if chance.clause == clause}


def summary(chances: list[Chance]) -> list[str]:
    """The two risks of the whole contract."""
    passed = passed_of(chances, None)
    worse = [f"{percent(passed[better])} % pass {-better:g} % below" for better in sorted(passed) if better < 0]
    return [
        f"The supplier's risk: {percent(1 - passed[0])} % fail with all clauses at their bounds.",
        f"The centre's risk, all clauses alike: {', '.join(reversed(worse))}.",
    ]


def as_object(contract: Contract, assumed: Assumed, chances: list[Chance]) -> dict:
    """The chances with all that was assumed, for --json."""
    return {
        "contract": contract.title,
        "contract_sha256": contract.sha256,
        "noise": assumed.noise.words,
        "nights": assumed.noise.nights,
        "sessions": assumed.sessions,
        "refused": assumed.refused,
        "draws": assumed.draws,
        "seed": assumed.seed,
        "remarks": list(assumed.noise.remarks),
        "chances": list(map(asdict, chances)),
    }


def figure(chances: list[Chance]) -> Figure:
    """The operating characteristic: a line for each part of the contract."""
    data = pd.DataFrame(
        [
            (name or WHOLE, better, 100 * passes)
            for name in parts(chances)
            for better, passes in passed_of(chances, name).items()
        ],
        columns=["clause", *AXES],
    )
    looks = [
        (plots.BLACK, plots.look_of(number)[1]) if name == WHOLE else plots.look_of(number)
        for number, name in enumerate(data["clause"].unique())
    ]
    description = (
        "How many acceptances pass for a machine whose true values are so much better or worse than the bounds. Right "
        "of 0, what is missing to 100 % is the supplier's risk; left of 0, the line is the centre's risk."
    )
    drawn = characteristic(data, looks, 0.0)
    return Figure("operating-characteristic", "Operating characteristic", description, data, drawn)


def characteristic(data: pd.DataFrame, looks: Sequence[tuple[str, str]], marked: float) -> plots.Canvas:
    """How many acceptances pass over how much better a machine is than the bounds: a line for each name in the first
    column, the others are AXES; `looks` are their colours and markers. The bound and `marked` percent are marked."""
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.9)
        for (name, rows), (colour, marker) in zip(data.groupby(data.columns[0], sort=False), looks):
            axes.plot(*(rows[column] for column in AXES), color=colour, marker=marker, label=str(name))
        axes.axvline(0, color=plots.GREY, linewidth=0.8)
        axes.axvline(marked, color=plots.GREY, linewidth=0.8, linestyle=":")
        axes.set_ylim(-2, 102)
        axes.set_xlabel("true value, percent better than the bound")
        axes.set_ylabel("acceptances that pass, %")
        axes.legend(loc="best")
    return drawn
