# SPDX-License-Identifier: Apache-2.0
"""`coffeecup references`: derives references from sessions, and checks that every metric has one.

Exit codes: 0 proposed or complete, 1 a reference is missing or unused, 2 wrong usage or files that cannot be read.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from postprocess.cli.common import Since, Sources, cases_and_history, changes_of, stored, writing
from postprocess.show.tables import each_row
from postprocess.show.words import counted, digits, printable, unit_word

app = typer.Typer(help="Create and check reference values.", no_args_is_help=True)

Benchmark = Annotated[str, typer.Option(metavar="NAME", help="Benchmark of the references.")]


@app.command()
def propose(
    sources: Sources,
    file: Annotated[
        Path, typer.Option("--file", "-f", metavar="YAML", help="Reference file; updated in place with --write.")
    ],
    benchmark: Benchmark,
    since: Since = None,
    coverage: Annotated[
        float,
        typer.Option(
            metavar="0..1", help="Probability that the next session falls inside the bounds if nothing changes."
        ),
    ] = 0.95,
    floor: Annotated[
        float, typer.Option(metavar="FRACTION", help="Minimum distance of the bounds from the value.")
    ] = 0.05,
    min_sessions: Annotated[int, typer.Option(metavar="N", help="Minimum number of sessions.")] = 10,
    settings: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Use only sessions with these kernel options; needed if sessions differ."),
    ] = None,
    environ: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use only this ReFrame environment; otherwise a partition with several gets references for each.",
        ),
    ] = None,
    valid_from: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            formats=["%Y-%m-%d"],
            help="Start a new epoch after an upgrade: "
            "earlier values are kept under _meta, and earlier sessions not used.",
        ),
    ] = None,
    xfail: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=TICKET", help="Mark a failure as expected; an empty ticket removes the mark."),
    ] = None,
    scaling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=EXPONENT",
            help="For sizes that were never measured: derive the value from the nearest "
            "smaller one times the ratio of processes to this power, marked as derived.",
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Use what is excluded otherwise: `failed` runs, other `versions` of kernel or MPI library than the "
            "newest, `disturbed` runs, or sessions with `changes` of level. May be repeated.",
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the file; otherwise only show the changes.")] = False,
) -> None:
    """Derive references from sessions; show how they differ from the current ones and which sessions would have
    failed."""
    from postprocess.benchmarks.registry import benchmarks
    from postprocess.history import change_points
    from postprocess.references import proposals
    from postprocess.references.files import save

    if benchmark not in benchmarks():
        raise typer.BadParameter(f"unknown benchmark {benchmark!r}: valid are {', '.join(benchmarks())}")
    if not 0 < coverage < 1 or not 0 < floor < 1 or min_sessions < 2:
        raise typer.BadParameter("--coverage and --floor must be between 0 and 1, --min-sessions at least 2")
    latest = max(filter(None, (since, valid_from)), default=None)
    table = one_kind(stored(sources, latest, benchmark, None), settings, environ)
    values = change_points.session_values(good(table, frozenset(include or ()), new_epoch=valid_from is not None))
    terms = proposals.Terms(
        coverage,
        floor,
        min_sessions,
        f"{valid_from or values['session_time'].min():%Y-%m-%d}",
        tuple(pairs(xfail, "--xfail")),
        tuple((name, number(text)) for name, text in pairs(scaling, "--scaling")),
    )
    made = proposed(values, terms)
    if "changes" not in (include or ()):
        refuse_changes(values.merge(made[["metric"]].drop_duplicates()))
    today = today_of(file, benchmark, values, made)
    new = proposals.proposal(today, benchmark, made, values, terms)
    show(made, proposals.differences(today, new, benchmark), proposals.outside(values, made))
    if write:
        with writing(file):
            save(file, new, benchmark)
        typer.echo(f"wrote {printable(str(file))}", err=True)
    else:
        typer.echo("nothing was written; use --write to write the file", err=True)


def good(table: pd.DataFrame, include: frozenset[str], new_epoch: bool) -> pd.DataFrame:
    """The rows of the runs that a reference may come from; lists the others. Raises BadParameter if none is left."""
    from postprocess.references.good_runs import KINDS, exclusions

    if unknown := include - set(KINDS):
        raise typer.BadParameter(f"--include: unknown kind {min(unknown)!r}: valid are {', '.join(KINDS)}")
    reasons = exclusions(table, include, new_epoch)
    excluded = table.assign(excluded=reasons)[reasons.ne("")].drop_duplicates("case")
    kept = table[reasons.eq("")]
    if kept.empty:
        why = "; ".join(sorted(set(excluded["excluded"])))
        raise typer.BadParameter(f"no run is left that a reference may come from: {printable(why)}; see --include")
    for row in each_row(excluded):
        typer.echo(printable(f"excluded: {row.session_time:%Y-%m-%d %H:%M} UTC, {row.name}: {row.excluded}"))
    return kept


def refuse_changes(values: pd.DataFrame) -> None:
    """Raises BadParameter if a series changed its level: a reference of both levels describes neither."""
    from postprocess.reports.changes import place

    for finding in changes_of(values):
        raise typer.BadParameter(
            f"{place(finding.series)}: {finding.change.relative:+.1%} since {finding.time:%Y-%m-%d %H:%M} UTC: a "
            f"reference describes one level; use --valid-from {finding.time:%Y-%m-%d} for the new one, or "
            "--include changes"
        )


def proposed(values: pd.DataFrame, terms) -> pd.DataFrame:
    """The entries that the sessions give. Raises BadParameter if there are none, or if an option names a metric that is
    not among them."""
    from postprocess.references import proposals

    made = proposals.entries(values, terms)
    useless = made["lower"] <= -1
    for row in each_row(made[useless]):
        typer.echo(
            printable(
                f"no reference: {proposals.worded(row)}: no value would fail, so much do the sessions scatter "
                f"({row.lower:+.0%})"
            )
        )
    made = made[~useless]
    if made.empty:
        raise typer.BadParameter(
            f"no metric has {counted(terms.min_sessions, 'session')}, which a reference requires: measure more, or "
            "give --min-sessions"
        )
    unknown = {name for name, _ in (*terms.xfail, *terms.scaling)} - set(made["metric"])
    if unknown:
        raise typer.BadParameter(f"no reference was proposed for: {', '.join(sorted(unknown))}")
    return made


def today_of(file: Path, benchmark: str, values: pd.DataFrame, made: pd.DataFrame) -> dict:
    """The current content of the reference file. Raises BadParameter if the entries do not fit into it."""
    from postprocess.references import proposals

    today = loaded(file, benchmark) if file.exists() else {"_meta": {"benchmark": benchmark, "schema": 1}}
    index = today.get(benchmark, {}).get("$index")
    wanted = proposals.index_of(values, index or ())
    if index not in (None, wanted):
        raise typer.BadParameter(f"{printable(str(file))}: $index is {index}, but the sessions are indexed by {wanted}")
    if hidden := proposals.hidden(today, benchmark, made):
        raise typer.BadParameter(f"{printable(str(file))}: {hidden}")
    return today


def loaded(file: Path, benchmark: str) -> dict:
    from postprocess.references.files import ReferenceFileError, load

    try:
        return load(file, benchmark)
    except ReferenceFileError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def check(
    sources: Sources,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            "-f",
            metavar="YAML",
            help="A reference file, named after its benchmark, whose "
            "every entry has to belong to something in the sessions; may be repeated.",
        ),
    ] = None,
) -> None:
    """The gate: every metric of the sessions (of dry runs as well) was compared with a reference, and every reference
    was used and can fail."""
    from postprocess.references import gate

    _, table = cases_and_history(sources, None, None, None)
    contents = {path.stem: loaded(path, path.stem) for path in files or []}
    gaps = gate.without_reference(table) + gate.orphans(contents, table) + gate.without_effect(contents)
    for gap in gaps:
        typer.echo(printable(gap))
    compared = gate.with_distinct_places(table)
    typer.echo(
        f"{len(compared)} metrics of {counted(table['session'].nunique(), 'session')}: "
        + (
            counted(len(gaps), "gap")
            if gaps
            else "each has a reference" + (", every reference is used" if contents else "")
        )
    )
    raise typer.Exit(1 if gaps else 0)


def one_kind(table: pd.DataFrame, settings: str | None, environ: str | None) -> pd.DataFrame:
    """The rows of one form of the benchmark, because runs with other options are not comparable, and of the chosen
    environment."""
    for column, chosen, option in (("settings", settings, "--settings"), ("environ", environ, "--environ")):
        found = sorted(table[column].unique())
        if option == "--settings" and chosen is None and len(found) > 1:
            raise typer.BadParameter(
                f"the sessions are of several kinds; select one with {option}: " + ", ".join(map(repr, found))
            )
        if chosen is not None:
            table = table[table[column] == chosen]
            if table.empty:
                raise typer.BadParameter(
                    f"{option}: no session has {chosen!r}; there are " + ", ".join(map(repr, found))
                )
    return table


def pairs(options: list[str] | None, name: str) -> list[tuple[str, str]]:
    split = [option.partition("=") for option in options or []]
    for metric, equals, _ in split:
        if not equals:
            raise typer.BadParameter(f"{name}: expected METRIC=..., got {metric!r}")
    return [(metric, value) for metric, _, value in split]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--scaling: the exponent must be a number, not {text!r}") from None


def show(made: pd.DataFrame, differences: list, outside: pd.DataFrame) -> None:
    from postprocess.references import proposals

    for row in each_row(made):
        bounds = limits(row.lower, row.upper, "{:+.1%}".format)
        typer.echo(
            printable(
                f"{proposals.worded(row)}: {digits(row.value)} {unit_word(row.unit)} ({bounds}; "
                f"{counted(row.sessions, 'session')}, coverage {row.covered:.0%}, robust spread {row.spread:.1%})"
            )
        )
    typer.echo(
        f"\nchanges to the file: "
        f"{counted(len(differences), 'entry') if len(differences) == 1 else f'{len(differences)} entries'}"
    )
    for key, was, now in differences:
        typer.echo(printable(f"  {', '.join(map(str, key))}: {was or 'none'} -> {now or 'none'}"))
    typer.echo(f"\nsessions used here that would have failed: {outside['session'].nunique()}")
    for row in each_row(outside):
        typer.echo(
            printable(
                f"  {row.session_time:%Y-%m-%d %H:%M} UTC, {proposals.worded(row)}: {digits(row.value)}, "
                f"allowed {limits(row.least, row.most, digits)} {unit_word(row.unit)}"
            )
        )


def limits(lower: float, upper: float, worded) -> str:
    """Bounds of which one may be NaN."""
    if pd.isna(upper):
        return f"at least {worded(lower)}"
    return f"at most {worded(upper)}" if pd.isna(lower) else f"{worded(lower)} to {worded(upper)}"
