# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept risk`: what a contract is worth before it is signed."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.accept import ContractFile
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, print_result, write_figures
from coffeecup.postprocess.cli.selection import Selection, begin_of, end_of, expanded
from coffeecup.postprocess.logs.reader import LogError

if TYPE_CHECKING:
    from coffeecup.postprocess.acceptance.contract import Contract
    from coffeecup.postprocess.acceptance.noise import Noise
    from coffeecup.postprocess.acceptance.risk import Assumed


def fraction(option: str, value: float, most: float = 100) -> float:
    """A percentage as a fraction. Raises BadParameter."""
    if not 0 <= value < most:
        raise typer.BadParameter(f"{option} must be at least 0 and below {most:g}, not {value:g}")
    return value / 100


@dataclass(frozen=True)
class Assumptions:
    """Where the noise comes from, and how acceptances are drawn."""

    history: Annotated[
        list[Path] | None,
        typer.Option(metavar="SESSIONS", help="Sessions that show the noise: ReFrame's results database or reports."),
    ] = None
    since: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", parser=begin_of, help="Ignore sessions of --history before (UTC)."),
    ] = None
    until: Annotated[
        datetime | None, typer.Option(metavar="DATE", parser=end_of, help="Ignore sessions of --history after (UTC).")
    ] = None
    noise: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV: `night`, and a column for each clause or `*`; a row per run."),
    ] = None
    scatter: Annotated[
        float | None, typer.Option(metavar="PERCENT", help="Stated noise: standard deviation of runs of one session.")
    ] = None
    night_scatter: Annotated[
        float, typer.Option(metavar="PERCENT", help="With --scatter: that of sessions, in addition.")
    ] = 0.0
    sessions: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Sessions that the runs are divided into.")
    ] = 1
    refused: Annotated[
        float, typer.Option(metavar="PERCENT", help="How many of the runs are refused, for example killed.")
    ] = 0.0
    draws: Annotated[int, typer.Option(metavar="N", min=100, max=1_000_000, help="Acceptances that are drawn.")] = 4000
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the drawn acceptances.")] = 0

    def assumed(self, agreed: "Contract") -> "Assumed":
        """Raises BadParameter."""
        from coffeecup.postprocess.acceptance.risk import Assumed

        return Assumed(self.known(agreed), self.sessions, fraction("--refused", self.refused), self.draws, self.seed)

    def known(self, agreed: "Contract") -> "Noise":
        """The noise of the one source that was chosen. Raises BadParameter."""
        from coffeecup.postprocess.acceptance.noise import NoiseError, Stated, by_runs, noise_of_history, read_noise

        if sum(source is not None for source in (self.history or None, self.noise, self.scatter)) != 1:
            raise typer.BadParameter("state the noise, in one way: --history, --noise or --scatter")
        if (self.since or self.until) and not self.history:
            raise typer.BadParameter("--since and --until select sessions of --history")
        if self.night_scatter and self.scatter is None:
            raise typer.BadParameter("--night-scatter adds to --scatter")
        if self.scatter is not None:
            return Stated(fraction("--scatter", self.scatter), fraction("--night-scatter", self.night_scatter))
        with as_usage(NoiseError, LogError):
            tests = by_runs(agreed.clauses)
            if self.noise:
                return read_noise(self.noise, tests)
            return noise_of_history(Selection(self.history or [], self.since, self.until).values(), tests)


@exit_codes({0: "the risks were computed, whatever they are", 2: USAGE + ", an invalid contract, or unknown noise"})
@expanded()
def risk(
    assumptions: Assumptions,
    contract: ContractFile,
    figures: options.Figures = None,
    as_json: options.AsJson = False,
) -> None:
    """Print how likely a machine passes the contract, by its true value: the supplier's and the centre's risk."""
    from coffeecup.postprocess.acceptance.contract import ContractError, read_contract
    from coffeecup.postprocess.acceptance.risk import simulation
    from coffeecup.postprocess.reports import risks

    with as_usage(ContractError):
        agreed = read_contract(contract)
    assumed = assumptions.assumed(agreed)
    chances = simulation(agreed, assumed).chances()
    print_result(as_json, risks.as_object(agreed, assumed, chances), risks.text(agreed, assumed, chances))
    if figures:
        write_figures(figures, [(contract.stem, risks.figure(chances))])
