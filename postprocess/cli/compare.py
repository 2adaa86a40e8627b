# SPDX-License-Identifier: Apache-2.0
"""`coffeecup compare`: runs that differ in one thing, in turn, and whether it makes a difference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli.common import (
    USAGE,
    AsJson,
    Figures,
    as_usage,
    exit_codes,
    print_result,
    write_figures,
    writing,
)
from coffeecup.postprocess.cli.selection import Selection
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.comparison.plan import Plan


Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[PLAN] [-- COMMAND...]",
        help="The comparison in YAML, without --arm; and the command that all arms run, instead of that of PLAN. "
        "With --sessions: session reports of ReFrame, results databases or directories.",
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
RunLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Without PLAN: end a run that takes longer (default: 10 times the longest one so far, at least 60 s).",
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
    pairs: Annotated[int, typer.Option(metavar="N", help="Without PLAN: the most runs of each arm.")] = 20,
    minimum: Annotated[
        float, typer.Option(metavar="FRACTION", help="Without PLAN: the smallest difference that matters.")
    ] = 0.03,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Without PLAN: a metric to judge (default: the first of the benchmark); may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Without PLAN: seed of the order of the runs.")] = 0,
    run_limit: RunLimit = None,
    sessions: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BEFORE AFTER",
            help="Run nothing: compare these sessions with the noise between the others. Each is one or more days "
            "(UTC) or beginnings of identifiers, separated by commas.",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --sessions: only this benchmark; may be repeated."),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder of the runs; what began there goes on."),
    ] = Path("comparison"),
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Run the arms of a comparison in turn until it is decided whether they differ, find the best value of a setting,
    or compare sessions of a history. The runs are in an order that is random and balanced, and the first arm runs
    twice, as its own control."""
    if sessions:
        if arm or parameter or figures:
            raise typer.BadParameter("--sessions runs and draws nothing: leave out --arm, --parameter and --figures")
        selection = Selection([Path(word) for word in words], benchmark=benchmark, metric=metric)
        holds = compared_sessions(selection, sessions, minimum, as_json)
    elif benchmark:
        raise typer.BadParameter("--benchmark needs --sessions")
    else:
        settings = {"pairs": pairs, "minimum": minimum, "metrics": metric or [], "seed": seed, "run_limit": run_limit}
        if parameter and arm:
            raise typer.BadParameter("--parameter is a search, --arm a comparison: leave out one of them")
        how = (best_value, parameter) if parameter else (compared_arms, arm)
        holds = how[0](words, how[1] or [], settings, folder, figures, as_json)
    raise typer.Exit(0 if holds else 1)


def compared_arms(
    words: list[str], arms: list[str] | None, settings: dict, folder: Path, figures: Path | None, as_json: bool
) -> bool:
    """Runs and prints a comparison; whether everything is decided. Raises BadParameter."""
    from coffeecup.postprocess.cli.alternation import Alternation, run_until_decided
    from coffeecup.postprocess.comparison import result
    from coffeecup.postprocess.comparison.figures import figures as drawn
    from coffeecup.postprocess.comparison.plan import PlanError

    with as_usage(PlanError), writing(folder):
        plan = planned(words, arms, **settings)
        runs = Alternation(plan, folder)
        found = run_until_decided(runs)
    comparison = result.conclude(plan, found, [run for run in runs.runs if run.problem])
    if figures:
        write_figures(figures, [("comparison", figure) for figure in drawn(plan, found)])
    print_result(as_json, result.as_object(comparison), result.text(comparison))
    return comparison.holds


def best_value(
    command: list[str], parameters: list[str], settings: dict, folder: Path, figures: Path | None, as_json: bool
) -> bool:
    """Finds, confirms and prints the best of some values; whether the comparison with the default is decided. Raises
    BadParameter."""
    from coffeecup.postprocess.cli.searching import confirm, halve
    from coffeecup.postprocess.comparison import search
    from coffeecup.postprocess.comparison.figures import figures as drawn
    from coffeecup.postprocess.comparison.plan import PlanError

    with as_usage(PlanError), writing(folder):
        stated = {"command": command, **settings}
        among = search.Search(search.values_of(parameters))
        rounds = halve(among, stated, folder)
        confirmed, results = confirm(among, stated, folder)
        metric = results.judged[0]
    runs = rounds + confirmed.runs
    if figures:
        write_figures(figures, [("comparison", figure) for figure in drawn(confirmed.plan, results)])
    shown = among, metric, runs, confirmed
    print_result(as_json, search.as_object(*shown), search.text(*shown))
    return confirmed.holds


def compared_sessions(selection: Selection, named: tuple[str, str], minimum: float, as_json: bool) -> bool:
    """Compares and prints sessions; whether everything is decided. Raises BadParameter."""
    from coffeecup.postprocess.cli.common import valued
    from coffeecup.postprocess.comparison import sessions

    if not 0 < minimum < 1:
        raise typer.BadParameter("--minimum: a fraction between 0 and 1 is needed")
    values = valued(selection.values(), None)
    sides = {side: identifiers(values, text) for side, text in zip((sessions.BEFORE, sessions.AFTER), named)}
    if both := set.intersection(*map(set, sides.values())):
        raise typer.BadParameter(f"--sessions: {', '.join(sorted(both))} is on both sides")
    found = sessions.compare_sessions(values, sides, selection.metric or [], minimum)
    print_result(as_json, sessions.as_object(found), sessions.text(found))
    return found.holds


def identifiers(values: "pd.DataFrame", text: str) -> list[str]:
    """The sessions that a side of --sessions names. Raises BadParameter for a name without any."""
    there, chosen = values.drop_duplicates("session"), []
    for name in text.split(","):
        matches = there["session"].str.startswith(name) | (there["session_time"].dt.strftime("%Y-%m-%d") == name)
        if not name or not matches.any():
            raise typer.BadParameter(f"--sessions: no session with a value is of {printable(repr(name))}")
        chosen += there.loc[matches, "session"].tolist()
    return [*dict.fromkeys(chosen)]


def planned(words: list[str], arms: list[str] | None, **settings) -> "Plan":
    """Raises PlanError."""
    from msgspec.structs import replace

    from coffeecup.postprocess.comparison.plan import plan_of, read_plan

    if arms:
        return plan_of(words, arms, **settings)
    plan, *command = words
    return replace(read_plan(Path(plan)), **({"command": command} if command else {}))
