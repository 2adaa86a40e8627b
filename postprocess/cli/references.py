"""`coffeecup references`: propose references from sessions, and the gate that every result has one.

Exit codes: 0 proposed or complete, 1 the gate found a gap, 2 wrong usage or files that cannot be read.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
import yaml

from postprocess.cli.history import Since, Sources, stored
from postprocess.show.words import counted, digits, printable, unit_word

app = typer.Typer(help="References with a provenance.", no_args_is_help=True)

HEADER = """\
# References of the check {benchmark}, in ReFrame's external form: [value, lower and upper bound as fractions, unit] by partition and number
# of processes. `coffeecup references propose` wrote them from measured sessions; _meta tells of which. docs/references.md explains all.
"""
Benchmark = Annotated[str, typer.Option(metavar="NAME", help="The benchmark whose references these are.")]


@app.command()
def propose(
    sources: Sources,
    file: Annotated[Path, typer.Option("--file", "-f", metavar="YAML", help="Today's references; with --write, tomorrow's too.")],
    benchmark: Benchmark,
    since: Since = None,
    coverage: Annotated[float, typer.Option(metavar="0..1", help="Probability that the next session falls inside the bounds if nothing "
                                                                 "changes.")] = 0.95,
    floor: Annotated[float, typer.Option(metavar="FRACTION", help="Bounds are never nearer to the value than this.")] = 0.05,
    fewest: Annotated[int, typer.Option(metavar="N", help="Sessions that a value needs.")] = 10,
    settings: Annotated[str | None, typer.Option(metavar="TEXT", help="The kernel's options of the sessions to use, where they differ.")] = None,
    environ: Annotated[str | None, typer.Option(metavar="NAME", help="ReFrame's environment, where the sessions have several.")] = None,
    valid_from: Annotated[datetime | None, typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="Begin a new epoch, after an upgrade: "
                                                        "earlier values are kept under _meta, and earlier sessions not used.")] = None,
    xfail: Annotated[list[str] | None, typer.Option(metavar="METRIC=TICKET", help="A failure that is expected; an empty ticket ends it.")] = None,
    scaling: Annotated[list[str] | None, typer.Option(metavar="METRIC=EXPONENT", help="Sizes never measured: the value of the nearest "
                                                      "smaller one times the ratio of processes to this power, marked as derived.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the file; without it, only what would change is shown.")] = False,
) -> None:
    """Show what references the sessions give, how they differ from today's, and which sessions they would have failed."""
    from postprocess.benchmarks.registry import benchmarks
    from postprocess.history import change_points
    from postprocess.references import proposals

    if benchmark not in benchmarks():
        raise typer.BadParameter(f"unknown benchmark {benchmark!r}: valid are {', '.join(benchmarks())}")
    if not 0 < coverage < 1 or not 0 < floor < 1 or fewest < 2:
        raise typer.BadParameter("--coverage and --floor lie between 0 and 1, --fewest is at least 2")
    latest = max(filter(None, (since, valid_from)), default=None)
    values = change_points.session_values(one_kind(stored(sources, latest, benchmark, None), settings, environ))
    terms = proposals.Terms(coverage, floor, fewest, f"{valid_from or values['session_time'].min():%Y-%m-%d}",
                            tuple(pairs(xfail, "--xfail")), tuple((name, number(text)) for name, text in pairs(scaling, "--scaling")))
    made = proposals.entries(values, terms)
    if made.empty:
        raise typer.BadParameter(f"no metric has {counted(fewest, 'session')}, which a reference needs: measure more, or give --fewest")
    unknown = {name for name, _ in (*terms.xfail, *terms.scaling)} - set(made["metric"])
    if unknown:
        raise typer.BadParameter(f"no such metric among the proposed: {', '.join(sorted(unknown))}")
    today = load(file, benchmark) if file.exists() else {"_meta": {"benchmark": benchmark, "schema": 1}}
    index = today.get(benchmark, {}).get("$index")
    if index not in (None, proposals.index_of(values)):
        raise typer.BadParameter(f"{printable(str(file))}: $index is {index}, and the sessions are by {proposals.index_of(values)}")
    if hidden := proposals.hidden(today, benchmark, made):
        raise typer.BadParameter(f"{printable(str(file))}: {hidden}")
    new = proposals.proposal(today, benchmark, made, values, terms)
    show(made, proposals.differences(today, new, benchmark), proposals.outside(values, made))
    if write:
        save(file, new, benchmark)
        typer.echo(f"wrote {printable(str(file))}", err=True)
    else:
        typer.echo("nothing was written; --write does", err=True)


@app.command()
def check(
    sources: Sources,
    files: Annotated[list[Path] | None, typer.Option("--file", "-f", metavar="YAML", help="A reference file, named for its benchmark, whose "
                                                     "every entry has to belong to something in the sessions; may be repeated.")] = None,
) -> None:
    """The gate: every metric of the sessions (a dry run's too) was compared with a reference, and no reference belongs to nothing."""
    from postprocess.references import gate

    table = stored(sources, None, None, None, measured=False)
    contents = {path.stem: load(path, path.stem) for path in files or []}
    gaps = gate.without_reference(table) + gate.orphans(contents, table)
    for gap in gaps:
        typer.echo(printable(gap))
    compared = gate.with_distinct_places(table)
    typer.echo(f"{len(compared)} metrics of {counted(table['session'].nunique(), 'session')}: " +
               (counted(len(gaps), "gap") if gaps else "each has a reference" + (", no reference is left over" if contents else "")))
    raise typer.Exit(1 if gaps else 0)


def one_kind(table: pd.DataFrame, settings: str | None, environ: str | None) -> pd.DataFrame:
    """The rows of one form of the benchmark: what ran with other options, or in another environment, is another number."""
    for column, chosen, option in (("settings", settings, "--settings"), ("environ", environ, "--environ")):
        found = sorted(table[column].unique())
        if chosen is None and len(found) > 1:
            raise typer.BadParameter(f"the sessions are not of one kind; choose with {option}: " + ", ".join(map(repr, found)))
        if chosen is not None:
            table = table[table[column] == chosen]
            if table.empty:
                raise typer.BadParameter(f"{option}: no session has {chosen!r}; there are " + ", ".join(map(repr, found)))
    return table


def pairs(options: list[str] | None, name: str) -> list[tuple[str, str]]:
    for option in options or []:
        if "=" not in option:
            raise typer.BadParameter(f"{name}: METRIC=... is expected, not {option!r}")
    return [tuple(option.split("=", 1)) for option in options or []]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--scaling: an exponent is a number, not {text!r}") from None


def load(path: Path, benchmark: str) -> dict:
    """A reference file; a user's error where it is none."""
    from postprocess.references.proposals import COLUMNS

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{printable(str(path))}: cannot be read: {printable(str(error))}") from None
    if not isinstance(content, dict) or not isinstance(content.get(benchmark), dict) or not isinstance(content.get("_meta"), dict):
        raise typer.BadParameter(f"{printable(str(path))}: no reference file of {benchmark}: it has no entry of this name, or no _meta")
    index = content[benchmark].get("$index")
    if not isinstance(index, list) or not index or not set(index) <= set(COLUMNS):
        raise typer.BadParameter(f"{printable(str(path))}: $index has to be a list of {', '.join(COLUMNS)}, not {printable(str(index))}")
    return content


def save(path: Path, content: dict, benchmark: str) -> None:
    """All or nothing: a full disk or a signal leaves today's file."""
    from postprocess.cli.app import writing

    text = HEADER.format(benchmark=benchmark) + yaml.dump(content, Dumper=Compact, sort_keys=False, width=140, allow_unicode=True)
    beside = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


class Compact(yaml.SafeDumper):
    """An entry is a line: lists of plain values in brackets. No anchors: each entry stands for itself."""

    def ignore_aliases(self, data) -> bool:
        return True

    def represent_sequence(self, tag, sequence, flow_style=None):
        return super().represent_sequence(tag, sequence, flow_style=True)


def show(made: pd.DataFrame, differences: list, outside: pd.DataFrame) -> None:
    from postprocess.references import proposals

    for row in made.itertuples():
        unit = unit_word(row.unit)
        typer.echo(printable(f"{proposals.worded(row)}: {digits(row.value)} {unit} ({row.lower:+.1%} to {row.upper:+.1%}; "
                             f"{counted(row.sessions, 'session')}, coverage {row.covered:.0%}, robust spread {row.spread:.1%})"))
    typer.echo(f"\ndifference to today's file: {counted(len(differences), 'entry') if len(differences) == 1 else f'{len(differences)} entries'}")
    for key, was, now in differences:
        typer.echo(printable(f"  {', '.join(map(str, key))}: {was if was else 'none'} -> {now if now else 'none'}"))
    typer.echo(f"\nsessions used here that these would have failed: {outside['session'].nunique()}")
    for row in outside.itertuples():
        typer.echo(printable(f"  {row.session_time:%Y-%m-%d %H:%M} UTC, {proposals.worded(row)}: {digits(row.value)}, "
                             f"allowed {digits(row.least)} to {digits(row.most)} {unit_word(row.unit)}"))
