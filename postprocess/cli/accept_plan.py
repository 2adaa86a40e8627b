# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept plan`: proposes repetitions, statistics and guard bands for a contract by the risks it may take."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.accept import ContractFile
from coffeecup.postprocess.cli.accept_risk import Assumptions, fraction
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, print_result, write_figures
from coffeecup.postprocess.cli.selection import expanded

if TYPE_CHECKING:
    from coffeecup.postprocess.acceptance.contract import Contract

Supplier = Annotated[
    float,
    typer.Option("--supplier", metavar="PERCENT", help="How often a machine at its bounds may fail the contract."),
]
Centre = Annotated[
    float,
    typer.Option("--centre", metavar="PERCENT", help="How often a machine that is --below slower may pass a clause."),
]
Below = Annotated[
    float, typer.Option("--below", metavar="PERCENT", help="How much worse than its bounds a slow machine is.")
]
MostRuns = Annotated[
    int, typer.Option("--most-runs", metavar="N", min=1, max=1000, help="The most runs of a clause that you would pay.")
]
NodeHours = Annotated[
    list[str] | None,
    typer.Option(
        "--node-hours", metavar="[CLAUSE=]HOURS", help="Cost of one run, of all clauses or of one; repeatable."
    ),
]


def hours_of(agreed: "Contract", stated: list[str]) -> dict[str, float]:
    """The node hours of one run of each clause by its name, 0 without any statement. Raises BadParameter."""
    found = {clause.name: 0.0 for clause in agreed.clauses}
    for text in stated:
        name, _, number = text.rpartition("=")
        try:
            hours = float(number)
        except ValueError:
            hours = -1.0
        if not 0 <= hours < math.inf or (name and name not in found):
            raise typer.BadParameter(f"--node-hours: HOURS or CLAUSE=HOURS is expected, not {text!r:.80}")
        found |= {name: hours} if name else dict.fromkeys(found, hours)
    return found


@exit_codes(
    {
        0: "the proposal keeps the risks in the noise as it is known",
        1: "no number of runs up to --most-runs keeps the risks",
        2: USAGE + ", an invalid contract, or unknown noise",
    }
)
@expanded()
def plan(
    contract: ContractFile,
    supplier: Supplier = 5.0,
    centre: Centre = 5.0,
    below: Below = 5.0,
    most_runs: MostRuns = 100,
    node_hours: NodeHours = None,
    *,
    assumptions: Assumptions,
    figures: options.Figures = None,
    as_json: options.AsJson = False,
) -> None:
    """Propose repetitions, a statistic and a guard band for each clause that keep the wanted risks. The agreed bounds
    stay as they are."""
    from coffeecup.postprocess.acceptance.contract import ContractError, read_contract
    from coffeecup.postprocess.acceptance.plan import Wanted
    from coffeecup.postprocess.acceptance.plan import plan as planned
    from coffeecup.postprocess.reports import contract_plan

    with as_usage(ContractError):
        agreed = read_contract(contract)
    risks = fraction("--supplier", supplier, 50), fraction("--centre", centre, 50)
    if not (min(risks) > 0 and 0 < below < 100):
        raise typer.BadParameter("--supplier, --centre and --below must be above 0, and --below below 100")
    assumed = assumptions.assumed(agreed)
    found = planned(agreed, assumed, Wanted(*risks, below, most_runs), hours_of(agreed, node_hours or []))
    print_result(as_json, contract_plan.as_object(found, assumed), contract_plan.text(found, assumed))
    if figures:
        write_figures(figures, [(contract.stem, contract_plan.figure(found))])
    raise typer.Exit(0 if found.proposed else 1)
