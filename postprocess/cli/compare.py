# SPDX-License-Identifier: Apache-2.0
"""`coffeecup compare`: runs that differ in one thing, in turn, and whether it makes a difference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, print_result, write_figures, writing
from coffeecup.postprocess.cli.selection import Selection
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.comparison.plan import Plan
    from coffeecup.postprocess.comparison.result import Comparison
    from coffeecup.postprocess.comparison.search import Found
    from coffeecup.postprocess.comparison.sessions import Sessions


Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[PLAN] [-- COMMAND...]",
        help="The comparison in YAML, without --arm; and the command that all arms run. What is stated here replaces "
        "what PLAN states. With --sessions: session reports of ReFrame, results databases or directories.",
    ),
]
Arms = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=SETTINGS",
        help="An arm, with the variables (NAME=VALUE) and options that it adds to the command; repeat it for each. "
        "The others are compared with the first one.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=V1,V2,...",
        help="Find the best of these values of a variable or, as --NAME, of an option, instead of --arm; repeat it for "
        "all combinations. The last one left is compared with the command as it is.",
    ),
]
Sides = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="BEFORE AFTER",
        help="Run nothing: compare these sessions with the noise between the others. Each is one or more days (UTC) or "
        "beginnings of identifiers, separated by commas.",
    ),
]


@exit_codes(
    {
        0: "every difference is decided: how large it is, or that none matters",
        1: "one is not, a run failed, or the arms differ in something that the plan does not name",
        2: USAGE,
    }
)
def compare(
    words: Words,
    arm: Arms = None,
    parameter: Parameters = None,
    pairs: Annotated[int | None, typer.Option(metavar="N", help="The most runs of each arm (default: 20).")] = None,
    minimum: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="The smallest difference that matters (default: 0.03).")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric to judge (default: the first of the benchmark); may be repeated.")
    ] = None,
    sessions: Sides = None,
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the runs; what began there goes on.")
    ] = Path("comparison"),
    figures: options.Figures = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the arms of a comparison in turn until it is decided whether they differ, find the best value of a setting,
    or compare sessions of a history. The runs are in an order that is random and balanced, and the first arm runs
    twice, as its own control."""
    if sum(map(bool, (arm, parameter, sessions))) > 1:
        raise typer.BadParameter(
            "--arm is a comparison, --parameter a search, --sessions runs nothing: use one of them"
        )
    stated = {"pairs": pairs, "minimum": minimum, "metrics": metric}
    settings = {name: value for name, value in stated.items() if value not in (None, [])}
    if sessions:
        if figures or pairs:
            raise typer.BadParameter("--sessions runs and draws nothing: use --metric and --minimum alone")
        found = compared_sessions(words, sessions, metric, minimum)
    else:
        found = run_arms(words, arm, parameter, settings, folder, figures)
    from coffeecup.postprocess.reports.comparisons import text

    print_result(as_json, found, text(found))
    raise typer.Exit(0 if found.holds else 1)


def run_arms(
    words: list[str],
    arms: list[str] | None,
    parameters: list[str] | None,
    settings: dict,
    folder: Path,
    figures: Path | None,
) -> "Comparison | Found":
    """Runs a comparison, or a search and its confirmation. Raises BadParameter."""
    from coffeecup.postprocess.cli.alternation import PLAN, Alternation, alone_in, run_until_decided
    from coffeecup.postprocess.cli.searching import searched
    from coffeecup.postprocess.comparison.plan import PlanError

    with as_usage(PlanError), writing(folder):
        if parameters:
            found, results = searched(parameters, {"command": words, **settings}, folder)
        else:
            plan = planned(words, arms, settings)
            with alone_in(folder, PLAN):
                results = run_until_decided(Alternation(plan, folder))
            found = results.comparison
    if figures:
        from coffeecup.postprocess.comparison.figures import figures as drawn

        write_figures(figures, [("comparison", figure) for figure in drawn(results)])
    return found


def compared_sessions(
    words: list[str], named: tuple[str, str], metrics: list[str] | None, minimum: float | None
) -> "Sessions":
    """Compares sessions of a history. Raises BadParameter."""
    from coffeecup.postprocess.cli.common import valued
    from coffeecup.postprocess.comparison import sessions
    from coffeecup.postprocess.comparison.plan import MINIMUM

    minimum = MINIMUM if minimum is None else minimum
    if not 0 < minimum < 1:
        raise typer.BadParameter("--minimum: a fraction between 0 and 1 is needed")
    values = valued(Selection([Path(word) for word in words], metric=metrics).values(), None)
    sides = {side: identifiers(values, text) for side, text in zip((sessions.BEFORE, sessions.AFTER), named)}
    if both := set.intersection(*map(set, sides.values())):
        raise typer.BadParameter(f"--sessions: {', '.join(sorted(both))} is on both sides")
    return sessions.compare_sessions(values, sides, metrics or [], minimum)


def identifiers(values: "pd.DataFrame", text: str) -> list[str]:
    """The sessions that a side of --sessions names. Raises BadParameter for a name without any."""
    there, chosen = values.drop_duplicates("session"), []
    for name in text.split(","):
        matches = there["session"].str.startswith(name) | (there["session_time"].dt.strftime("%Y-%m-%d") == name)
        if not name or not matches.any():
            raise typer.BadParameter(f"--sessions: no session with a value is of {printable(repr(name))}")
        chosen += there.loc[matches, "session"].tolist()
    return [*dict.fromkeys(chosen)]


def planned(words: list[str], arms: list[str] | None, settings: dict) -> "Plan":
    """Raises PlanError."""
    from coffeecup.postprocess.comparison.plan import changed, plan_of, read_plan

    if arms:
        return plan_of(words, arms, **settings)
    plan, *command = words
    return changed(read_plan(Path(plan)), **settings, **({"command": command} if command else {}))
