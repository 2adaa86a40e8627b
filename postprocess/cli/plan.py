# SPDX-License-Identifier: Apache-2.0
"""`coffeecup plan`: how much testing is enough."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, print_result, site_rules
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    from coffeecup.postprocess.history.candidates import Candidates
    from coffeecup.postprocess.history.plan import Plan, Simulation, Terms


@exit_codes(
    {
        0: "the printed mode detects the loss",
        1: "no set of tests detects it in the time, or a metric could not be planned",
        2: USAGE + ", or too few sessions to know the noise",
    }
)
@expanded("partition")
def plan(
    selection: Selection,
    minutes: Annotated[float, typer.Option(metavar="M", help="Run time of all tests of a night, without the queue.")],
    nights: Annotated[int, typer.Option(metavar="N", help="Nights within which the loss is to be detected.")] = 7,
    loss: Annotated[float, typer.Option(metavar="PERCENT", help="The loss to detect, in percent.")] = 10,
    probability: Annotated[
        float, typer.Option(metavar="PERCENT", help="How probable its detection has to be, in percent.")
    ] = 95,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the printed mode.")] = "planned",
    thresholds: options.Thresholds = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the drawn histories.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Find the cheapest tests that detect a loss, from the noise of the site's sessions, and print a ReFrame mode that
    runs them."""
    from coffeecup.postprocess.history.plan import Terms, plan
    from coffeecup.postprocess.reports import planned

    limits("--minutes", minutes, 0, float("inf"))
    limits("--nights", nights, 4, 90)
    limits("--loss", loss, 1, 50)
    limits("--probability", probability, 50, 99.5)
    terms = Terms(minutes, nights, loss / 100, probability / 100, seed)
    found, remarks = read(selection, thresholds)
    with simulation(found, terms) as by:
        made = plan(found.tests, found.targets, by)
        rows = planned.rows(found, made, by)
    mode, foreign = mode_of(selection, made, name)
    result = found, made, rows, mode, remarks + foreign
    print_result(as_json, planned.as_object(*result), f"{planned.text(*result)}\n")
    raise typer.Exit(0 if made.reached and not found.unknown else 1)


@contextmanager
def simulation(found: "Candidates", terms: "Terms") -> "Iterator[Simulation]":
    """The simulation of these series, which states on a terminal how much it has done."""
    from coffeecup.postprocess.history.plan import Simulation

    with Console(stderr=True).status("drawing histories") as status:
        done = count(1)
        yield Simulation(
            found.series,
            found.site,
            terms,
            lambda: status.update(f"drawing histories: {terms.draws} for each of {next(done)} combinations"),
        )


def limits(option: str, value: float, least: float, most: float) -> None:
    """Raises BadParameter for a value outside of the limits, and for the ends of infinite ones."""
    if not (least <= value <= most and 0 < value < float("inf")):
        bounds = f"between {least:g} and {most:g}" if most < float("inf") else "a positive number"
        raise typer.BadParameter(f"{option} must be {bounds}, not {value:g}")


def read(selection: Selection, thresholds: Path | None) -> "tuple[Candidates, list[str]]":
    """What the sessions offer, with remarks. Raises BadParameter if that is not one system whose noise is known."""
    from coffeecup.postprocess.history.candidates import candidates
    from coffeecup.postprocess.reports.changes import undirected

    _, chosen = selection.tables()
    _, table = replace(selection, benchmark=None, metric=None).tables()
    if len(systems := sorted(table["system"].unique())) > 1:
        names = ", ".join(printable(repr(name)) for name in systems)
        raise typer.BadParameter(f"a mode is for one system, and these sessions are of {names}: choose with --system")
    rules = site_rules(thresholds)
    wanted = table["case"].isin(chosen["case"])
    with as_usage(ValueError):
        found = candidates(table, rules, wanted, selection.metric)
    unknown = [noise.series | {"unit": ""} for noise in found.series if noise.rule.better == Better.UNKNOWN]
    unused = rules.unused([noise.series for noise in found.series])
    return found, [undirected(unknown)] * bool(unknown) + [
        f"thresholds: entry {number} matches no metric of the plan" for number in unused
    ]


def mode_of(selection: Selection, made: "Plan", name: str) -> tuple[dict, list[str]]:
    """The mode that runs the chosen tests, and a remark on what it lacks. Raises BadParameter."""
    from coffeecup.site_configs.common.planned_mode import ModeError, mode

    commands = {session.uuid: session.cmdline for session in selection.sessions()}
    with as_usage(ModeError):
        content, unknown = mode(
            name, [(test.name, commands[test.session]) for test in made.choice.tests], made.choice.repeats
        )
    return content, [
        f"The sessions used the mode {printable(repr(foreign))} of another configuration: add its options to the mode."
        for foreign in unknown
    ]
