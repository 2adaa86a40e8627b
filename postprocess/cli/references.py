# SPDX-License-Identifier: Apache-2.0
"""`coffeecup references`: derives references from sessions, and checks that every metric has one."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, print_json, writing
from coffeecup.postprocess.cli.reference_options import Wanted
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import counted, digits, printable, unit_word

if TYPE_CHECKING:
    import pandas as pd

LARGEST_EXPONENT = 10  # of the number of processes


# Bounds hold for all metrics of a test together, so that none can be left out.
@exit_codes({0: "proposed, and written with --write", 2: USAGE + ", or no reference can be proposed"})
@expanded("metric")
def propose(
    selection: Selection,
    wanted: Wanted,
    write: Annotated[bool, typer.Option("--write", help="Write the file; otherwise only show the changes.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Derive references of one --benchmark from sessions; show what changes and which sessions would have failed."""
    from coffeecup.postprocess.history import change_points
    from coffeecup.postprocess.references import proposals

    if write:
        options.can_be_written(wanted.file)
    benchmark = only_benchmark(selection)
    latest = max(filter(None, (selection.since, wanted.valid_from)), default=None)
    table = one_kind(replace(selection, since=latest).values(), wanted.settings, wanted.environ)
    used, excluded = good(table, frozenset(wanted.include or ()), new_epoch=wanted.valid_from is not None)
    values = change_points.session_values(used)
    simulated = are_simulated(values)
    terms = proposals.Terms(
        wanted.coverage,
        wanted.floor or proposals.FLOOR[simulated],
        wanted.min_sessions or proposals.MIN_SESSIONS[simulated],
        simulated,
        f"{wanted.valid_from or values['session_time'].min():%Y-%m-%d}",
        tuple(pairs(wanted.xfail, "--xfail")),
        tuple((name, number(text)) for name, text in pairs(wanted.scaling, "--scaling")),
    )
    made, useless = proposed(values, terms)
    if "changes" not in (wanted.include or ()):
        refuse_changes(values.merge(made[["metric"]].drop_duplicates()))
    today = today_of(wanted.file, benchmark, values, made, terms.simulated)
    new = proposals.proposal(today, benchmark, made, values, terms)
    found = (excluded, useless, made, proposals.differences(today, new, benchmark), proposals.outside(values, made))
    if as_json:
        print_json(as_object(*found))
    else:
        show(*found)
    if write:
        update(wanted.file, new, benchmark)
    else:
        typer.echo("nothing was written; use --write to write the file", err=True)


def only_benchmark(selection: Selection) -> str:
    """The benchmark of the filter. Raises BadParameter if there is none or more than one."""
    benchmark, *others = selection.benchmark or [""]
    if others or not benchmark:
        raise typer.BadParameter("name one --benchmark: a reference file belongs to one")
    return benchmark


def update(file: Path, new: dict, benchmark: str) -> None:
    """Writes a reference file. For a test of another suite, prints the line that the test needs."""
    from coffeecup.postprocess.benchmarks.registry import benchmarks
    from coffeecup.postprocess.references.files import save

    with writing(file):
        save(file, new, benchmark)
    typer.echo(f"wrote {printable(str(file))}", err=True)
    if benchmark not in benchmarks():
        typer.echo(
            f"the test compares with it if the class {benchmark} contains this line:\n"
            f'    reference = {{"$ref": "{printable(str(file.resolve()))}"}}',
            err=True,
        )


def good(table: "pd.DataFrame", include: frozenset[str], new_epoch: bool) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """The rows of the runs that a reference may come from, and a row of each other run with the reason in `excluded`.
    Raises BadParameter if none is left."""
    from coffeecup.postprocess.references.good_runs import KINDS, exclusions

    if unknown := include - set(KINDS):
        raise typer.BadParameter(f"--include: unknown kind {min(unknown)!r}: valid are {', '.join(KINDS)}")
    reasons = exclusions(table, include, new_epoch)
    excluded = table.assign(excluded=reasons)[reasons.ne("")].drop_duplicates("case")
    kept = table[reasons.eq("")]
    if kept.empty:
        counts = excluded["excluded"].str.slice(stop=100).value_counts()  # a failed job may have much to say
        why = "; ".join(f"{counted(count, 'run')} {reason}" for reason, count in counts.items())
        raise typer.BadParameter(f"no run is left that a reference may come from: {printable(why)}; see --include")
    return kept, excluded


def are_simulated(values: "pd.DataFrame") -> bool:
    """Whether the sessions were simulated. Raises BadParameter if only some were, or if simulated values of one series
    differ: simulated time has no noise."""
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.references.good_runs import simulated

    with as_usage(ValueError):
        found = simulated(values)
    if found and (values.groupby(SERIES, observed=True)["value"].nunique() > 1).any():
        raise typer.BadParameter(
            "the simulated sessions differ, although simulated time has no noise: the kernel, SimGrid or the platform "
            "changed between them; use --since or --valid-from for those after the change"
        )
    return found


def refuse_changes(values: "pd.DataFrame") -> None:
    """Raises BadParameter if a series changed its level: a reference of both levels describes neither. No level begins
    with a drift; of an episode it is the one after it."""
    from coffeecup.postprocess.history import change_points
    from coffeecup.postprocess.reports.changes import place

    for finding in change_points.findings(values):
        times, last = values["session_time"], finding.last
        start = finding.time if last is None else times[times > last].min()
        drift = finding.change.drift
        how = f" to {last:%Y-%m-%d %H:%M} UTC" if last else " UTC, in a steady drift" if drift else " UTC"
        new = "" if drift else f"--valid-from {start:%Y-%m-%dT%H:%M:%S} for the new one, or "
        raise typer.BadParameter(
            f"{place(finding.series)}: {finding.change.relative:+.1%} {'from' if last else 'since'} "
            f"{finding.time:%Y-%m-%d %H:%M}{how}: a reference describes one level; use {new}--include changes"
        )


def proposed(values: "pd.DataFrame", terms) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """The entries that the sessions give, and those that no value would fail, so much do the sessions scatter. Raises
    BadParameter if there are none, or if an option names a metric that is not among them."""
    from coffeecup.postprocess.references import proposals

    made = proposals.entries(values, terms)
    useless = made[made["lower"] <= -1]
    made = made.drop(useless.index)
    if made.empty and len(useless):
        raise typer.BadParameter(
            "the sessions scatter so much that no value of any metric would fail: find the cause, or measure more"
        )
    if made.empty:
        raise typer.BadParameter(
            f"no metric has {counted(terms.min_sessions, 'session')}, which a reference requires: measure more, or "
            "give --min-sessions"
        )
    unknown = {name for name, _ in (*terms.xfail, *terms.scaling)} - set(made["metric"])
    if unknown:
        raise typer.BadParameter(f"no reference was proposed for: {printable(', '.join(sorted(unknown)))}")
    return made, useless


def today_of(file: Path, benchmark: str, values: "pd.DataFrame", made: "pd.DataFrame", simulated: bool) -> dict:
    """The current content of the reference file. Raises BadParameter if the entries do not fit into it."""
    from coffeecup.postprocess.references import proposals

    today = loaded(file, benchmark) if file_exists(file) else {"_meta": {"benchmark": benchmark, "schema": 1}}
    other = "measured" if simulated else "simulated"
    if other in today["_meta"]:
        raise typer.BadParameter(
            f"{printable(str(file))}: the references are {other}, the sessions are not: choose another file"
        )
    index = today.get(benchmark, {}).get("$index")
    wanted = proposals.index_of(values, index or ())
    if index not in (None, wanted):
        raise typer.BadParameter(f"{printable(str(file))}: $index is {index}, but the sessions are indexed by {wanted}")
    if hidden := proposals.hidden(today, benchmark, made):
        raise typer.BadParameter(f"{printable(str(file))}: {hidden}")
    return today


def file_exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:
        raise typer.BadParameter(f"--file: {printable(str(file))}: {error.strerror}") from None


def loaded(file: Path, benchmark: str, remedy: str = "") -> dict:
    """The content of a reference file. Raises BadParameter, with the remedy, if it is not one of this benchmark."""
    from coffeecup.postprocess.references.files import ReferenceFileError, load

    with as_usage(ReferenceFileError):
        return load(file, benchmark, remedy)


@exit_codes({0: "every metric has a reference, and every reference is used and can fail", 1: "a gap", 2: USAGE})
@expanded()
def check(
    selection: Selection,
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
    as_json: options.AsJson = False,
) -> None:
    """The gate: every metric of the sessions (of dry runs as well) was compared with a reference, and every reference
    was used and can fail."""
    from coffeecup.postprocess.references import gate

    _, table = selection.tables()
    contents = {path.stem: loaded(path, path.stem, "; name the file after its benchmark") for path in files or []}
    if len(contents) < len(files or []):
        raise typer.BadParameter("--file: two files of the same name; check one after the other")
    gaps = {
        "without_reference": gate.without_reference(table),
        "unused": gate.orphans(contents, table),
        "cannot_fail": gate.without_effect(contents, table),
    }
    metrics, sessions, number = (
        len(gate.with_distinct_places(table)),
        table["session"].nunique(),
        sum(map(len, gaps.values())),
    )
    if as_json:
        print_json({"sessions": sessions, "metrics": metrics, "gaps": number, **gaps})
    else:
        good = "each has a reference" + (", every reference is used" if contents else "")
        lines = [printable(gap) for found in gaps.values() for gap in found]
        last = f"{metrics} metrics of {counted(sessions, 'session')}: {counted(number, 'gap') if number else good}"
        typer.echo("\n".join([*lines, last]))
    raise typer.Exit(1 if number else 0)


def one_kind(table: "pd.DataFrame", settings: str | None, environ: str | None) -> "pd.DataFrame":
    """The rows of one form of the benchmark, because runs with other options are not comparable, and of the chosen
    environment."""
    from coffeecup.postprocess.references.proposals import kinds

    for kind, chosen, option in ((kinds, settings, "--settings"), (lambda rows: rows["environ"], environ, "--environ")):
        found = sorted(kind(table).unique())
        if option == "--settings" and chosen is None and len(found) > 1:
            raise typer.BadParameter(
                f"the sessions are of several kinds; select one with {option}: {printable(', '.join(map(repr, found)))}"
            )
        if chosen is not None:
            table = table[(kind(table) == chosen) | ((option == "--settings") & (table["settings"] == chosen))]
            if table.empty:
                there = ", ".join(map(repr, found))
                raise typer.BadParameter(printable(f"{option}: no session has {chosen!r}; there are {there}"))
    return table


def pairs(options: list[str] | None, name: str) -> list[tuple[str, str]]:
    """Metric and value of each METRIC=VALUE of the option `name`. Raises BadParameter."""
    split = [option.partition("=") for option in options or []]
    for metric, equals, _ in split:
        if not equals:
            raise typer.BadParameter(f"{name}: expected METRIC=..., got {metric!r}")
    return [(metric, value) for metric, _, value in split]


def number(text: str) -> float:
    """An exponent of --scaling. Raises BadParameter."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not abs(found) <= LARGEST_EXPONENT:
        raise typer.BadParameter(
            f"--scaling: the exponent must be a number from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}, not "
            f"{printable(repr(text))}"
        )
    return found


def as_object(excluded, useless, made: "pd.DataFrame", differences: list, outside: "pd.DataFrame") -> dict:
    """What `show` prints as plain values and tables."""
    place = ["system", "partition", "environ", "file_system", "processes"]
    entry = ["where", "environ", "file_system", "parameters", "processes", "metric", "value", "unit", "lower", "upper"]
    detail = [*entry, "sessions", "covered", "spread"]
    return {
        "excluded": excluded[["session", "session_time", "name", *place, "excluded"]],
        "no_reference": useless[detail],
        "proposed": made[detail],
        "changes": [{"entry": list(map(str, key)), "was": was, "now": now} for key, was, now in differences],
        "would_have_failed": outside[["session", "session_time", *place, "metric", "value", "unit", "least", "most"]],
    }


def show(excluded, useless, made: "pd.DataFrame", differences: list, outside: "pd.DataFrame") -> None:
    """Prints what was proposed, what was excluded, and which sessions would have failed."""
    from coffeecup.postprocess.references import proposals
    from coffeecup.postprocess.show.tables import each_row

    for row in each_row(excluded):
        typer.echo(printable(f"excluded: {row.session_time:%Y-%m-%d %H:%M} UTC, {row.name}: {row.excluded}"))
    for row in each_row(useless):
        typer.echo(
            printable(
                f"no reference: {proposals.worded(row)}: no value would fail, so much do the sessions scatter "
                f"({row.lower:+.0%})"
            )
        )
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
    import pandas as pd

    if pd.isna(upper):
        return f"at least {worded(lower)}"
    return f"at most {worded(upper)}" if pd.isna(lower) else f"{worded(lower)} to {worded(upper)}"
