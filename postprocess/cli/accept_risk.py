# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept risk`: what a contract is worth before it is signed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli.accept import ContractFile
from coffeecup.postprocess.cli.common import USAGE, AsJson, Figures, as_usage, exit_codes, print_json, write_figures
from coffeecup.postprocess.cli.selection import Selection, begin_of, end_of
from coffeecup.postprocess.logs.reader import LogError

if TYPE_CHECKING:
    from coffeecup.postprocess.acceptance.contract import Contract
    from coffeecup.postprocess.acceptance.noise import Noise

Sessions = Annotated[
    list[Path] | None,
    typer.Option(
        "--history", metavar="SESSIONS", help="Sessions that show the noise: ReFrame's results database or reports."
    ),
]
Since = Annotated[str | None, typer.Option(metavar="DATE", help="Ignore sessions of --history before (UTC).")]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="Ignore sessions of --history after (UTC).")]
NoiseFile = Annotated[
    Path | None,
    typer.Option("--noise", metavar="FILE", help="CSV: `night`, and a column for each clause or `*`; a row per run."),
]
Scatter = Annotated[
    float | None, typer.Option(metavar="PERCENT", help="Stated noise: standard deviation of runs of one session.")
]
NightScatter = Annotated[
    float, typer.Option("--night-scatter", metavar="PERCENT", help="With --scatter: that of sessions, in addition.")
]
SessionCount = Annotated[
    int, typer.Option("--sessions", metavar="N", min=1, help="Sessions that the runs are divided into.")
]
Refused = Annotated[
    float, typer.Option("--refused", metavar="PERCENT", help="How many of the runs are refused, for example killed.")
]
Draws = Annotated[int, typer.Option(metavar="N", min=100, max=1_000_000, help="Acceptances that are drawn.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the drawn acceptances.")]


def fraction(option: str, value: float, most: float = 100) -> float:
    """A percentage as a fraction. Raises BadParameter."""
    if not 0 <= value < most:
        raise typer.BadParameter(f"{option} must be at least 0 and below {most:g}, not {value:g}")
    return value / 100


def noise_of(
    agreed: "Contract",
    history: list[Path] | None,
    since: str | None,
    until: str | None,
    noise: Path | None,
    scatter: float | None,
    night_scatter: float,
) -> "Noise":
    """The noise of the one source that was chosen. Raises BadParameter."""
    from coffeecup.postprocess.acceptance.noise import NoiseError, Stated, by_runs, noise_of_history, read_noise

    if sum(source is not None for source in (history or None, noise, scatter)) != 1:
        raise typer.BadParameter("state the noise, in one way: --history, --noise or --scatter")
    if (since or until) and not history:
        raise typer.BadParameter("--since and --until select sessions of --history")
    if night_scatter and scatter is None:
        raise typer.BadParameter("--night-scatter adds to --scatter")
    if scatter is not None:
        return Stated(fraction("--scatter", scatter), fraction("--night-scatter", night_scatter))
    with as_usage(NoiseError, LogError):
        tests = by_runs(agreed.clauses)
        if noise:
            return read_noise(noise, tests)
        selected = Selection(history or [], begin_of(since) if since else None, end_of(until) if until else None)
        return noise_of_history(selected.values(), tests)


@exit_codes({0: "the risks were computed, whatever they are", 2: USAGE + ", an invalid contract, or unknown noise"})
def risk(
    contract: ContractFile,
    history: Sessions = None,
    since: Since = None,
    until: Until = None,
    noise: NoiseFile = None,
    scatter: Scatter = None,
    night_scatter: NightScatter = 0.0,
    sessions: SessionCount = 1,
    refused: Refused = 0.0,
    draws: Draws = 4000,
    seed: Seed = 0,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Print how likely a machine passes the contract, by its true value: the supplier's and the centre's risk."""
    from coffeecup.postprocess.acceptance.contract import ContractError, read_contract
    from coffeecup.postprocess.acceptance.risk import Assumed, simulation
    from coffeecup.postprocess.reports import risks

    with as_usage(ContractError):
        agreed = read_contract(contract)
    known = noise_of(agreed, history, since, until, noise, scatter, night_scatter)
    assumed = Assumed(known, sessions, fraction("--refused", refused), draws, seed)
    chances = simulation(agreed, assumed).chances()
    if as_json:
        print_json(risks.as_object(agreed, assumed, chances))
    else:
        typer.echo(risks.text(agreed, assumed, chances), nl=False)
    if figures:
        write_figures(figures, [(contract.stem, risks.figure(chances))])
