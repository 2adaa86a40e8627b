# SPDX-License-Identifier: Apache-2.0
"""`coffeecup schema`: the format of a benchmark's log for other programs."""

from typing import Annotated

import orjson
import typer

from postprocess.cli.common import exit_codes


@exit_codes({0: "printed", 2: "no benchmark has this name"})
def schema(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Name of the benchmark.")],
) -> None:
    """Print the JSON Schema of the records in a benchmark's log."""
    from postprocess.benchmarks.registry import log_formats

    if benchmark not in log_formats():
        raise typer.BadParameter(f"unknown benchmark {benchmark!r}; use one of {', '.join(sorted(log_formats()))}")
    typer.echo(orjson.dumps(log_formats()[benchmark].schema, option=orjson.OPT_INDENT_2).decode())
