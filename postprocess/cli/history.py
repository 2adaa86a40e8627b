"""`coffeecup history` and `coffeecup check-history`: sessions over time.

Exit codes of check-history: 0 no regression, 1 a regression that has not recovered, 2 wrong usage or sessions that cannot be read.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import pandas as pd
import typer

from postprocess.logs.reader import LogError
from postprocess.show.words import counted, digits, printable, unit_word

Sources = Annotated[list[Path], typer.Argument(metavar="SESSIONS...", help="Session reports (--report-file), results databases (*.db) of "
                                                                          "ReFrame, or directories with session*.json at any depth.")]
Since = Annotated[datetime | None, typer.Option(metavar="DATE", formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
                                                help="Leave out sessions that began earlier (UTC).")]
Benchmark = Annotated[str | None, typer.Option(metavar="NAME", help="This benchmark alone.")]
MetricName = Annotated[list[str] | None, typer.Option("--metric", metavar="NAME", help="This metric alone; may be repeated.")]


def history(
    sources: Sources,
    since: Since = None,
    benchmark: Benchmark = None,
    metric: MetricName = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="The whole table on stdout: a row per session, test case and metric.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for figures over time, as PNG and SVG, "
                                                                                      "each with its numbers as CSV.")] = None,
) -> None:
    """Show every metric over the sessions, against its references, with what changed around it."""
    from postprocess.cli.app import writing
    from postprocess.history import change_points
    from postprocess.history.figures import trends

    table = stored(sources, since, benchmark, metric)
    if as_csv:
        typer.echo(table.to_csv(index=False), nl=False)
        return
    values = change_points.session_values(table)
    found = changes_of(values)
    typer.echo(overview(values, found))
    if output:
        with writing(output):
            output.mkdir(parents=True, exist_ok=True)
            for figure in trends(values, found):
                typer.echo("\n".join(printable(str(path)) for path in figure.save(output, "history")))


def check_history(
    sources: Sources,
    since: Since = None,
    benchmark: Benchmark = None,
    metric: MetricName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every change as one JSON list on stdout, for machines.")] = False,
) -> None:
    """Look for lasting changes; the exit code is 1 where a metric got worse and has not recovered."""
    from postprocess.history import change_points

    values = change_points.session_values(stored(sources, since, benchmark, metric))
    found = changes_of(values)
    if as_json:
        typer.echo(orjson.dumps([record(finding) for finding in found], option=orjson.OPT_SERIALIZE_NUMPY).decode())
    else:
        typer.echo("\n".join([*map(sentence, found), *map(suspicion, change_points.suspicions(values, found).to_dict("records")),
                              summary(values, found)]))
    raise typer.Exit(1 if any(finding.alarms for finding in found) else 0)


def reports(sources, since) -> list:
    """The sessions; a user's error where they cannot be read."""
    from postprocess.sessions.files import read_reports

    try:
        return read_reports(sources, since and since.replace(tzinfo=UTC))
    except LogError as error:
        raise typer.BadParameter(str(error)) from None


def stored(sources, since, benchmark, metrics, measured: bool = True) -> pd.DataFrame:
    """The chosen rows of the history table; an error of the user's where there are none, or none was measured."""
    from postprocess.history.table import history_table

    table = history_table(reports(sources, since))
    if benchmark:
        table = table[table["benchmark"] == benchmark]
    if metrics:
        table = table[table["metric"].isin(metrics)]
    if table.empty or (measured and table["value"].isna().all()):
        raise typer.BadParameter("these sessions hold no result of coffeecup's benchmarks that was asked for")
    return table


def changes_of(values: pd.DataFrame) -> list:
    from postprocess.history import change_points

    try:
        return change_points.findings(values)
    except ModuleNotFoundError:
        raise typer.BadParameter(f"Apache Otava, which finds the changes, is not installed; add it with\n"
                                 f"    {sys.executable} -m pip install apache-otava==0.8.0") from None


def place(series: dict) -> str:
    options = f" ({series['settings']})" if series["settings"] else ""
    files = f", files on {series['file_system']}" if series["file_system"] else ""
    return printable(f"{series['benchmark']} {series['metric']} on {counted(series['processes'], 'process')} of "
                     f"{series['system']}:{series['partition']}+{series['environ']}{files}{options}")


def sentence(finding) -> str:
    """One change: what, how much, since when, and what else changed then."""
    change, unit = finding.change, unit_word(finding.unit)
    verdict = ("recovered since" if finding.recovered else "REGRESSION") if finding.regression else "changed"
    causes = printable("; ".join(finding.causes)) or "nothing that was recorded"
    return (f"{verdict}: {place(finding.series)}: {change.relative:+.1%} since {finding.time:%Y-%m-%d %H:%M} UTC, "
            f"{digits(change.before)} -> {digits(change.after)} {unit}, p = {change.p_value:.1g}, "
            f"lasting for {counted(finding.lasted, 'session')}. Changed at that time: {causes}")


def suspicion(row: dict) -> str:
    return (f"suspected: {place(row)}: {row['relative']:+.1%} in the last session alone ({row['session_time']:%Y-%m-%d %H:%M} UTC), "
            f"{digits(row['level'])} -> {digits(row['value'])} {unit_word(row['unit'])}. Confirm it: the session's command again, "
            f"with --repeat=3 -n {printable(repr(row['name'].partition(' %.repeat_no')[0].replace(' ', '')))}")


def summary(values: pd.DataFrame, found: list) -> str:
    from postprocess.history.change_points import SESSIONS_AFTER, SESSIONS_BEFORE
    from postprocess.history.table import SERIES

    sessions = values.groupby(SERIES, observed=True).size()
    short = int((sessions < SESSIONS_BEFORE + SESSIONS_AFTER).sum())
    not_judged = (f"; {short} of them not judged, having fewer than {SESSIONS_BEFORE + SESSIONS_AFTER} sessions" if short else "")
    alarms = sum(finding.alarms for finding in found)
    return (f"{counted(values['session'].nunique(), 'session')}, {len(sessions)} metrics over time{not_judged}: "
            f"{counted(alarms, 'regression')} that {'has' if alarms == 1 else 'have'} not recovered")


def record(finding) -> dict:
    return finding.series | {
        "unit": finding.unit, "since": finding.time.isoformat(), "sessions": finding.lasted, "before": finding.change.before,
        "after": finding.change.after, "relative": finding.change.relative, "p_value": finding.change.p_value,
        "regression": finding.regression, "recovered": finding.recovered, "alarm": finding.alarms, "changed": list(finding.causes),
    }


def overview(values: pd.DataFrame, found: list) -> str:
    """A line per series, the changes and events under them."""
    from postprocess.history.change_points import events
    from postprocess.history.table import SERIES

    lines = []
    for _, series in values.groupby(SERIES, sort=False, observed=True):
        last, unit = series.iloc[-1], unit_word(series["unit"].iloc[0])
        reference = "no reference" if pd.isna(last["reference"]) else f"reference {digits(last['reference'])}"
        lines.append(f"{place(last[SERIES].to_dict())}: {counted(len(series), 'session')}, last {digits(last['value'])} {unit}, median "
                     f"{digits(series['value'].median())}, {digits(series['value'].min())} to {digits(series['value'].max())}, {reference}")
    happened = [events(series) for _, series in values.groupby([name for name in SERIES if name != "metric"], sort=False, observed=True)
                for series in [series.drop_duplicates("session")]]
    lines += [printable(f"{row.session_time:%Y-%m-%d %H:%M} UTC: {row.what}: {row.was or 'nothing'} -> {row.now or 'nothing'}")
              for row in pd.concat(happened).drop_duplicates().sort_values("session_time").itertuples()]
    return "\n".join([*lines, *map(sentence, found)])
