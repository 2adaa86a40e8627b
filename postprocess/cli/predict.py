# SPDX-License-Identifier: Apache-2.0
"""`coffeecup predict`: what a described machine is expected to deliver."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import as_usage, calibrating, exit_codes, print_result, write_figures, write_text
from coffeecup.postprocess.logs.reader import Log, LogError

if TYPE_CHECKING:
    from coffeecup.postprocess.benchmarks.predicted import Prediction
    from coffeecup.postprocess.designs.design import Machine


Taper = Annotated[
    list[float] | None,
    typer.Option(
        metavar="N", help="Fat tree: links down over links up of a leaf switch; repeat it to compare designs."
    ),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Any field of a design (docs/predict.md); may be repeated."),
]
PlatformFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.cpp",
        callback=options.can_be_written,
        help="Only write the design as a platform of SimGrid, to simulate it.",
    ),
]


@exit_codes(
    {0: "predicted", 2: "wrong usage, a design that describes no machine, a log that cannot calibrate, or a file that "
     "cannot be read or written"}
)  # fmt: skip
def predict(
    file: Annotated[
        Path | None, typer.Argument(metavar="[DESIGNS]", help="YAML file with designs, instead of the options.")
    ] = None,
    network: Annotated[str | None, typer.Option(help="crossbar, torus, dragonfly or fat_tree.")] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Nodes of the machine.")] = None,
    per_node: Annotated[int | None, typer.Option(metavar="N", help="Processes on a node; default: 1.")] = None,
    nic: Annotated[
        str | None, typer.Option(metavar="BANDWIDTH", help="Of an adapter each way: 25GB/s or 200Gbit/s.")
    ] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="Half a round trip of a short message between nodes: 1.5us.")
    ] = None,
    taper: Taper = None,
    other: Fields = None,
    calibrate: options.Calibrate = None,
    r_max: options.RMax = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of the run; default: all of the machine.")
    ] = None,
    as_json: options.AsJson = False,
    figures: options.Figures = None,
    write_platform: PlatformFile = None,
) -> None:
    """Predict the results of a machine from the numbers of an offer. Nothing is measured or simulated."""
    from coffeecup.postprocess.benchmarks.predicted import PredictionError
    from coffeecup.postprocess.designs.design import DesignError
    from coffeecup.postprocess.designs.simgrid import PlatformError
    from coffeecup.postprocess.reports import predictions as shown

    given = {"network": network, "nodes": nodes, "per_node": per_node, "nic": nic, "latency": latency}
    stated = fields(other or [], {key: value for key, value in given.items() if value is not None})
    with as_usage(DesignError, PredictionError, PlatformError, LogError):
        machines = designs(file, stated, taper or [])
        if write_platform:
            write(write_platform, machines)
            return
        curves = predicted(machines, calibrating(calibrate), r_max, processes, bool(figures))
    full = [curve[-1] for curve in curves]
    print_result(as_json, msgspec.to_builtins(full), shown.terminal_text(full))
    if figures:
        from coffeecup.postprocess.reports.prediction_figures import over_nodes

        drawn = over_nodes([each for curve in curves for each in curve])
        write_figures(figures, [("designs", drawn)])


def fields(assignments: list[str], stated: Mapping[str, object]) -> dict[str, object]:
    """The fields of a design that options state, and those from FIELD=VALUE; numbers without a unit as numbers. Raises
    BadParameter."""
    read = dict(stated)
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        if not sign or not key or not value:
            raise typer.BadParameter(f"--set takes FIELD=VALUE, not {assignment!r}")
        if key in read:
            raise typer.BadParameter(f"{key} is stated twice, as {read[key]} and {value}; state it once")
        read[key] = int(value) if value.isdecimal() else float(value) if re.fullmatch(r"\d+\.\d+", value) else value
    return read


def designs(file: Path | None, stated: dict[str, object], tapers: list[float]) -> "list[Machine]":
    """The machines of the file or of the options. Raises BadParameter or DesignError."""
    from coffeecup.postprocess.designs.design import machine, read_machines

    if file:
        if stated or tapers:
            raise typer.BadParameter("state the designs in the file or by options, not both")
        return read_machines(file)
    if missing := [key for key in ("network", "nodes", "nic", "latency") if key not in stated]:
        raise typer.BadParameter(f"state --{missing[0]}, or a file with designs")
    if tapers and "taper" in stated:
        raise typer.BadParameter(f"taper is stated twice, by --taper and as {stated['taper']}; state it once")
    name = str(stated["network"])
    if not tapers:
        return [machine(name, stated)]
    return [machine(f"{name} {taper:g}:1", {**stated, "taper": taper}) for taper in tapers]


def write(path: Path, machines: "list[Machine]") -> None:
    """Writes the only machine as a platform. Raises PlatformError or BadParameter."""
    from coffeecup.postprocess.designs.simgrid import PlatformError, platform

    if len(machines) != 1:
        raise PlatformError(f"a platform describes one machine; state one design, not {len(machines)}")
    if path.suffix != ".cpp":
        raise PlatformError(f"a platform is C++; choose a name that ends in .cpp, not {path.name!r}")
    write_text(path, platform(machines[0], path.stem))


def predicted(
    machines: "list[Machine]", logs: list[Log], r_max: float | None, processes: int | None, curve: bool
) -> "list[list[Prediction]]":
    """For each machine and each benchmark that can be predicted, predictions for ascending numbers of processes; the
    last is the wanted one, others are there for a curve. Raises PredictionError."""
    from coffeecup.postprocess.benchmarks.predicted import PredictionError, predictable
    from coffeecup.postprocess.benchmarks.registry import functions

    found = []
    for machine in machines:
        most = machine.design.processes if processes is None else processes
        if most > machine.design.processes:
            raise PredictionError(f"{most} processes do not fit on {machine.design.processes} of {machine.name}")
        wanted = sizes(most, machine.per_node) if curve else [most]
        for name in predictable():
            compute = cast(Callable, functions(name).prediction)
            found.append(compute(machine, wanted, [log for log in logs if log.benchmark == name], r_max))
    return found


def sizes(most: int, per_node: int) -> list[int]:
    """Full nodes in powers of two, and the largest size."""
    powers = [per_node << power for power in range(24) if 2 <= per_node << power < most]
    return [*powers, most]
