# SPDX-License-Identifier: Apache-2.0
"""The events of two systems' years of nightly I/O benchmarks (tests/history/real_year), at their end and replayed night
by night. With --figures, the plots of docs/a-real-year.md.

    .venv/bin/python tests/evidence/bench_real_events.py [--every 7] [--figures docs/images]

A replay reads what a site had on each morning: the share of mornings that alarm, with and without --new; how many
events there were over the year; and how often an event that was there on the morning before had another date although
its earlier one was still between the dates that it stated.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import orjson
import pandas as pd
from matplotlib.dates import DateFormatter

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import findings
from coffeecup.postprocess.history.events import NEW, WORSE, Event, events
from coffeecup.postprocess.history.table import EVENTS, SERIES
from coffeecup.postprocess.reports.changes import lines

FOLDER = Path(__file__).parents[1] / "history" / "real_year"
SYSTEMS = ("edison", "mira")
COLUMNS = 4  # of a figure
FEWEST = 30  # sessions before the first morning of a replay


def values_of(system: str) -> pd.DataFrame:
    """The committed medians of each day as a table of change_points.session_values; a day is a session."""
    wide = pd.read_csv(FOLDER / f"{system}_mib_per_s.csv", index_col="day", parse_dates=["day"])
    rows = wide.rename_axis(columns="column").stack().rename("value").dropna().reset_index()
    named = rows["column"].str.split(" ", expand=True)
    named.columns = ["file_system", "benchmark", "operation", "files", "processes"]
    parameters = [{"operation": one.operation, "files": one.files} for one in named.itertuples()]
    rows = rows.assign(
        session_time=pd.to_datetime(rows["day"], utc=True).dt.as_unit("us"),
        session=rows["day"].astype(str),
        **named[["file_system", "benchmark"]],
        processes=named["processes"].astype(int),
        settings=[" ".join(f"{name}={value}" for name, value in one.items()) for one in parameters],
        parameters=[orjson.dumps(one).decode() for one in parameters],
    ).assign(system=system, partition="compute", environ="", node="", metric="bandwidth", unit="MiB/s")
    rows = rows.assign(better=str(Better.HIGHER), hosts="", facts="{}", **dict.fromkeys(EVENTS, ""))
    return rows.sort_values(["column", "session_time"], kind="stable", ignore_index=True)


def found_in(values: pd.DataFrame) -> list[Event]:
    return events(values, findings(values))


@dataclass
class Replay:
    """What mornings showed: how many there were, alarmed, alarmed with --new; the dates of events that moved although
    the earlier date was still in the interval, and that left it; and the names seen."""

    mornings: int = 0
    red: int = 0
    red_new: int = 0
    moved: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def replay(values: pd.DataFrame, every: int = 1) -> Replay:
    """All mornings, or every so many, from the one after FEWEST sessions on."""
    shown, before = Replay(), {}
    nights = sorted(values["session_time"].unique())
    for night in nights[FEWEST - 1 :: every]:
        found = found_in(values[values["session_time"] <= night])
        shown.mornings += 1
        shown.red += any(event.alarms for event in found)
        shown.red_new += any(event.alarms and event.state == NEW for event in found)
        shown.names |= {event.name for event in found if event.alarms}
        changes = {}
        for event in found:
            for finding in event.findings:
                key = (*finding.series.values(), event.direction, finding.detected)
                changes[key] = event
                if key in before and before[key].since != event.since:
                    earlier = before[key].since
                    inside = event.between[0] <= earlier <= event.between[1]
                    (shown.moved if inside else shown.left).append(
                        f"{night:%Y-%m-%d}: {before[key].name} -> {event.name}"
                    )
        before = changes
    return shown


def figure(values: pd.DataFrame, found: list[Event], path: Path) -> None:
    """The values of each test with the changes of level and the episodes of its events."""
    series = list(values.groupby(SERIES, sort=True))
    rows = -(-len(series) // COLUMNS)
    drawn, axes = plt.subplots(rows, COLUMNS, figsize=(13, 1.6 * rows), sharex=True, squeeze=False)
    for axis, (key, rows_of) in zip(axes.flat, series):
        axis.plot(rows_of["session_time"], rows_of["value"] / 1024, ".", markersize=2.5, color="0.35")
        last = rows_of.iloc[-1]
        axis.set_title(f"{last['benchmark']} {last['settings']} {last['file_system']}", fontsize=6)
        axis.set_ylim(0, None)
        axis.tick_params(labelsize=6)
        axis.xaxis.set_major_formatter(DateFormatter("%Y-%m"))
        for event in found:
            color = "tab:red" if event.direction == WORSE else "tab:green"
            for finding in event.findings:
                if tuple(finding.series.values()) != key:
                    continue
                if finding.last:
                    axis.axvspan(finding.time, finding.last, color=color, alpha=0.25)
                else:
                    axis.axvline(finding.time, color=color, linewidth=1)
    drawn.supylabel("GiB/s", fontsize=7)
    drawn.autofmt_xdate(rotation=45)
    drawn.tight_layout()
    drawn.savefig(path, dpi=75, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description="Events of two real years")
    parser.add_argument("--every", type=int, default=7, help="nights between two mornings of the replay; 0: none")
    parser.add_argument("--figures", type=Path, help="folder for a figure of each system")
    options = parser.parse_args()
    for system in SYSTEMS:
        values = values_of(system)
        found = found_in(values)
        print(f"\n{system}: {len(found)} events")
        for event in found:
            print("\n".join(lines(event)))
        if options.figures:
            figure(values, found, options.figures / f"{system}.png")
        if options.every:
            shown = replay(values, options.every)
            print(
                f"{system}: {shown.mornings} mornings, {shown.red} red, {shown.red_new} red with --new, "
                f"{len(shown.names)} names that alarmed; dates that moved within their interval: "
                f"{len(set(shown.moved))}, that left it: {len(set(shown.left))}"
            )
            print("\n".join(dict.fromkeys(shown.moved + shown.left)))


if __name__ == "__main__":
    main()
