# SPDX-License-Identifier: Apache-2.0
"""`coffeecup workload`: the workload that logs of Darshan describe, and what of them its run reproduces."""

from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import msgspec
import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import exit_codes, leave, print_json, print_result, write_text, writing
from coffeecup.postprocess.logs.paths import files_below
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import printable

DarshanLogs = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs (*.darshan), or directories that are searched for logs.")
]
Recording = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="The directory to write, which must not exist.")
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", callback=options.can_be_written, help="The workload to write.")
]


def functions_on_darshan() -> Any:
    """The functions of the benchmark that reads Darshan logs. Raises BadParameter without PyDarshan."""
    from coffeecup.postprocess.benchmarks.registry import benchmarks, functions

    if not find_spec("darshan"):
        raise typer.BadParameter("Darshan logs are read by PyDarshan: install coffeecup[darshan], or darshan from PyPI")
    [found] = [found for name in benchmarks() if (found := functions(name)).from_darshan]
    return found


@exit_codes(
    {0: "written", 1: "a log cannot be used; the workload is that of the others, if any", 2: "wrong usage, PyDarshan "
     "is missing, or a file that cannot be written"}
)  # fmt: skip
def from_darshan(logs: DarshanLogs, output: Output = Path("workload.cfg"), as_json: options.AsJson = False) -> None:
    """Write the workload of programs that Darshan recorded, and print what of the logs it reproduces."""
    convert = functions_on_darshan().from_darshan
    paths = list(dict.fromkeys(path for each in logs for path in files_below(each, "*.darshan")))
    if not paths:
        raise typer.BadParameter("the directories contain no *.darshan file")
    workload, errors = convert(paths)
    if workload:
        write_text(output, workload.text)
        if as_json:
            print_json(msgspec.to_builtins(workload))
        else:
            typer.echo(workload.shown, nl=False)
    leave(errors)


@exit_codes(
    {0: "written", 1: "the log cannot be used", 2: "wrong usage, PyDarshan is missing, or a directory that exists or "
     "cannot be written"}
)  # fmt: skip
def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Of a program that Darshan traced (DXT).")],
    output: Recording = Path("replay"),
    as_json: options.AsJson = False,
) -> None:
    """Write each request of a log's trace (DXT) for PRIOMark to replay, and print what of the log this reproduces."""
    convert = functions_on_darshan().replay_darshan
    if output.exists():
        raise typer.BadParameter(f"{printable(str(output))} exists: name another directory")
    made = convert(log)
    if not isinstance(made, LogError):
        with writing(output):
            output.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=output.parent) as whole_or_nothing:
                folder = Path(whole_or_nothing, "replay")
                folder.mkdir()
                for name, text in made.files(output.resolve()).items():
                    (folder / name).write_text(text, "utf-8", "surrogateescape")  # names may be no UTF-8
                folder.rename(output)
        typer.echo(f"wrote {printable(str(output))}", err=True)
        print_result(as_json, made.content, made.shown)
    leave([made])


@exit_codes(
    {0: "everything that a workload describes is reproduced", 1: "something is not, or a log cannot be used",
     2: "wrong usage, or PyDarshan is missing"}
)  # fmt: skip
def compare(
    original: Annotated[Path, typer.Argument(metavar="LOG", help="Of the program.")],
    run: Annotated[Path, typer.Argument(metavar="LOG", help="Of the run.")],
    as_json: options.AsJson = False,
) -> None:
    """Compare Darshan's counters of a program with those of PRIOMark's run of its workload."""
    compared = functions_on_darshan().compare_darshan(original, run)
    if not isinstance(compared, list):
        print_result(as_json, compared.content, compared.shown)
        leave([], not compared.holds)
    leave(compared)
