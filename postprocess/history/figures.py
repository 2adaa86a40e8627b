# SPDX-License-Identifier: Apache-2.0
"""Figures of the history: each metric over time, a panel per size, with references, bounds, changes, and what else
changed at the same time."""

from collections.abc import Iterator
from typing import cast

import matplotlib
import pandas as pd

from coffeecup.postprocess.history.change_points import Finding
from coffeecup.postprocess.history.circumstances import circumstances
from coffeecup.postprocess.history.comparable import same_units
from coffeecup.postprocess.history.table import SERIES
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure
from coffeecup.postprocess.show.words import counted, digits, file_word, named, unit_word

PANELS = 4
DAY = pd.Timedelta(days=1)
WITHOUT_SIZE = [name for name in SERIES if name not in ("processes", "node")]


def trends(values: pd.DataFrame, found: list[Finding]) -> Iterator[Figure]:
    """A figure per metric and place with all its nodes, up to PANELS sizes in each, from a table of
    change_points.session_values; of series whose unit changed, the sessions since then."""
    for number, (_, alike) in enumerate(same_units(values).groupby(WITHOUT_SIZE, sort=False, observed=True), 1):
        sizes = sorted(alike["processes"].unique())
        for start in range(0, len(sizes), PANELS):
            chosen = sizes[start : start + PANELS]
            yield trend(
                alike[alike["processes"].isin(chosen)],
                found,
                f"{number:02}" + (f"-{start // PANELS + 1}" if start else ""),
            )


def trend(values: pd.DataFrame, found: list[Finding], number: str) -> Figure:
    """The figure of one metric. The rows of `values` differ in size only."""
    with matplotlib.rc_context(plots.LOOK):
        return drawn_trend(values, found, number)


def drawn_trend(values: pd.DataFrame, found: list[Finding], number: str) -> Figure:
    first = values.iloc[0]
    panels = list(values.groupby("processes"))
    drawn, axes = plots.canvas(3 + 3.2 * len(panels), 3.4, len(panels))
    sizes = []
    for axis, (size, series) in zip(axes, panels):
        keys = series[SERIES].drop_duplicates().to_dict("records")
        here = [finding for finding in found if finding.series in keys]
        panel(axis, series, here)
        title = counted(cast(int, size), "process") if size else "unknown number of processes"
        axis.set_title(title)
        sizes.append(
            f"{title}: {counted(series['session'].nunique(), 'session')}, median "
            f"{digits(series['value'].median())} {unit_word(first['unit'])}".rstrip()
            + f", {counted(len(here), 'change')}"
        )
    axes[0].set_ylabel(f"{first['metric']} [{first['unit']}]" if first["unit"] else first["metric"])
    axes[0].legend(loc="best")
    drawn.get_layout_engine().execute(drawn)  # pyright: ignore[reportOptionalMemberAccess]: plots.canvas() sets it
    drawn.set_layout_engine("none")  # the layout is computed once, not for each file: it takes longer than drawing
    with_options = f", options {first['settings']}" if first["settings"] else ""
    where = f"{first['system']}:{first['partition']}+{first['environ']}" + (
        f", {first['file_system']}" if first["file_system"] else ""
    )
    return Figure(
        name=file_word(f"{number}-{first['benchmark']}-{first['metric']}"),
        title=f"{named(first['benchmark'], first['metric'])} on {where} over time",
        description=f"{first['metric']} over the sessions{with_options}. The vertical axis shows the range of the "
        "values and need not begin at 0. " + "; ".join(sizes) + ".",
        data=values[["session_time", "session", *SERIES, "value", "unit", "runs", "reference", "lower", "upper"]],
        canvas=drawn,
    )


def panel(axis, series: pd.DataFrame, found: list[Finding]) -> None:
    series = series.sort_values("session_time", kind="stable")
    times = series["session_time"]
    nodes = [of_node for _, of_node in series.groupby("node", sort=False)]
    for place, of_node in enumerate(nodes):
        style = {"color": BLUE, "linewidth": 0.8, "markersize": 3, "alpha": 1 if len(nodes) == 1 else 0.5}
        label = None if place else "session" if len(nodes) == 1 else "session of a node"
        line = "o-" if len(of_node) > 2 else "o"  # two values have no course
        axis.plot(of_node["session_time"], of_node["value"], line, label=label, **style)
    if series["reference"].notna().any():
        axis.plot(times, series["reference"], drawstyle="steps-post", color=GREEN, linewidth=1.2, label="reference")
    for bound in ("lower", "upper"):
        if series[bound].notna().any():
            axis.plot(
                times,
                series[bound],
                drawstyle="steps-post",
                color=GREEN,
                linewidth=1,
                linestyle="--",
                label="bounds" if bound == "lower" or series["lower"].isna().all() else None,
            )
    happened = {time for of_node in nodes for time in circumstances(of_node)["session_time"]}
    for place, time in enumerate(sorted(happened)):
        axis.axvline(
            time, color=GREY, linestyle=":", linewidth=1.6, zorder=3, label=None if place else "something else changed"
        )
    for place, finding in enumerate(found):
        axis.axvline(
            finding.time,
            color=VERMILION if finding.alarms else ORANGE,
            linewidth=1.4,
            label=None if place else "change of level",
        )
    if times.min() == times.max():  # Matplotlib would show four years
        axis.set_xlim(times.min() - DAY, times.max() + DAY)
    plots.time_axis(axis, 6)
    plots.around(axis, float(series["value"].median()))
