# SPDX-License-Identifier: Apache-2.0
"""`coffeecup workload from-darshan`: the workload that logs of Darshan describe."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import exit_codes, leave, print_json, write_text
from coffeecup.postprocess.logs.paths import files_below

DarshanLogs = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs (*.darshan), or directories that are searched for logs.")
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", callback=options.can_be_written, help="The workload to write.")
]


@exit_codes(
    {0: "written", 1: "a log cannot be used; the workload is that of the others, if any", 2: "wrong usage, PyDarshan "
     "is missing, or a file that cannot be written"}
)  # fmt: skip
def from_darshan(logs: DarshanLogs, output: Output = Path("workload.cfg"), as_json: options.AsJson = False) -> None:
    """Write the workload of programs that Darshan recorded, and print what of the logs it reproduces."""
    from coffeecup.postprocess.benchmarks.registry import benchmarks, functions

    if not find_spec("darshan"):
        raise typer.BadParameter("Darshan logs are read by PyDarshan: install coffeecup[darshan], or darshan from PyPI")
    paths = list(dict.fromkeys(path for each in logs for path in files_below(each, "*.darshan")))
    if not paths:
        raise typer.BadParameter("the directories contain no *.darshan file")
    [convert] = [found for name in benchmarks() if (found := functions(name).from_darshan)]
    workload, errors = convert(paths)
    if workload:
        write_text(output, workload.text)
        if as_json:
            print_json(msgspec.to_builtins(workload))
        else:
            typer.echo(workload.shown, nl=False)
    leave(errors)
