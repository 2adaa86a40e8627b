# SPDX-License-Identifier: Apache-2.0
"""`coffeecup compare`: runs that differ in one thing, in turn, and whether it makes a difference."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli.common import (
    USAGE,
    AsJson,
    Figures,
    as_usage,
    exit_codes,
    print_json,
    write_figures,
    writing,
)
from coffeecup.postprocess.show.words import digits, printable, seconds

if TYPE_CHECKING:
    from coffeecup.postprocess.cli.alternation import Alternation, Run
    from coffeecup.postprocess.comparison.plan import Plan
    from coffeecup.postprocess.comparison.result import Results


Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[PLAN] [-- COMMAND...]",
        help="The comparison in YAML, without --arm; and the command that all arms run, instead of that of PLAN.",
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
    pairs: Annotated[int, typer.Option(metavar="N", help="With --arm: the most runs of each arm.")] = 20,
    minimum: Annotated[
        float, typer.Option(metavar="FRACTION", help="With --arm: the smallest difference that matters.")
    ] = 0.03,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="With --arm: a metric to judge (default: the first one of the benchmark); may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="With --arm: seed of the order of the runs.")] = 0,
    folder: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder of the runs; what began there goes on."),
    ] = Path("comparison"),
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Run the arms of a comparison in turn until it is decided whether they differ. The runs are in an order that is
    random and balanced, and the first arm runs twice, as its own control."""
    from coffeecup.postprocess.cli.alternation import Alternation
    from coffeecup.postprocess.comparison import result
    from coffeecup.postprocess.comparison.figures import figures as drawn
    from coffeecup.postprocess.comparison.plan import PlanError

    with as_usage(PlanError), writing(folder):
        plan = planned(words, arm, pairs=pairs, minimum=minimum, metrics=metric or [], seed=seed)
        runs = Alternation(plan, folder)
        found = run_until_decided(runs)
    comparison = result.conclude(plan, found, [run for run in runs.runs if run.problem])
    if figures:
        write_figures(figures, [("comparison", figure) for figure in drawn(plan, found)])
    if as_json:
        print_json(result.as_object(comparison))
    else:
        typer.echo(result.text(comparison), nl=False)
    raise typer.Exit(0 if comparison.holds else 1)


def planned(words: list[str], arms: list[str] | None, **settings) -> "Plan":
    """Raises PlanError."""
    from msgspec.structs import replace

    from coffeecup.postprocess.comparison.plan import plan_of, read_plan

    if arms:
        return plan_of(words, arms, **settings)
    plan, *command = words
    return replace(read_plan(Path(plan)), **({"command": command} if command else {}))


def run_until_decided(runs: "Alternation") -> "Results":
    """Runs block after block. Ends when nothing is left to decide, after the last block, if an arm fails again and
    again, or if the user interrupts it. Raises PlanError if the logs have no such metric."""
    from coffeecup.postprocess.comparison.result import Results

    results = Results(runs.plan)
    for run in runs.runs:
        if run.log and (problem := results.add(run.block, run.arm, runs.folder / run.log)):
            say(f"{run.folder}: {problem}")
    try:
        while runs.blocks < runs.plan.pairs and not runs.failing() and not results.is_over(runs.blocks):
            for run in runs.block(results.add):
                say(f"block {run.block + 1} of at most {runs.plan.pairs}: {in_words(run, results)}")
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
    return results


def in_words(run: "Run", results: "Results") -> str:
    if run.problem:
        return f"{run.arm} failed: {run.problem}"
    metric = results.judged[0]
    return f"{run.arm} in {seconds(run.seconds)}, {metric} {digits(results.value(run.block, run.arm, metric))}"


def say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)
