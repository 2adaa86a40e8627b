# SPDX-License-Identifier: Apache-2.0
"""`coffeecup schema`: the format of a log, a contract or the result of an acceptance for other programs."""

from importlib import resources
from typing import Annotated

import orjson
import typer

from coffeecup.postprocess.cli.common import exit_codes

SCHEMAS = {"contract": "contract_schema.json", "acceptance": "result_schema.json"}


@exit_codes({0: "printed", 2: "no format has this name"})
def schema(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a benchmark, `contract`, or `acceptance` for its result.")
    ],
) -> None:
    """Print the JSON Schema of the records in a benchmark's log, of a contract, or of the result of an acceptance."""
    from coffeecup.postprocess.benchmarks.registry import log_formats

    if name in SCHEMAS:
        text = resources.files("coffeecup.postprocess.acceptance").joinpath(SCHEMAS[name]).read_text("utf-8")
        typer.echo(text, nl=False)
        return
    if name not in log_formats():
        known = ", ".join(sorted({*log_formats(), *SCHEMAS}))
        raise typer.BadParameter(f"unknown format {name!r}; use one of {known}")
    typer.echo(orjson.dumps(log_formats()[name].schema, option=orjson.OPT_INDENT_2).decode())
