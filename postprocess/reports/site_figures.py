# SPDX-License-Identifier: Apache-2.0
"""Figures of a site's page: scaling over sizes."""

import matplotlib
import pandas as pd
from matplotlib.ticker import PercentFormatter

from coffeecup.postprocess.history.table import WITHOUT_PROCESSES
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLACK, GREY, Figure
from coffeecup.postprocess.show.words import counted, digits, file_word, named
from coffeecup.postprocess.statistics.medians import CONFIDENCE


def label(row) -> str:
    """The label that distinguishes series of one benchmark."""
    return " ".join(filter(None, [place(row), row.settings]))


def place(row) -> str:
    """Where a row was measured; a group of several nodes has none."""
    shown = f"{row.system}:{row.partition}+{row.environ}"
    return " ".join(filter(None, [shown, getattr(row, "node", ""), row.file_system]))


def scaling(table: pd.DataFrame) -> Figure:
    """Bandwidth and efficiency of one benchmark over the number of processes, a line per place and options. `table` is
    a standing.scaling."""
    first = table.iloc[0]
    lines = [line for _, line in table.groupby(WITHOUT_PROCESSES, sort=False, observed=True)]
    summaries = []
    with matplotlib.rc_context(plots.LOOK):
        drawn, (rate, share) = plots.canvas(
            8.6, 3.2 + 0.2 * len(lines), columns=2
        )  # room for a line of the legend each
        for number, line in enumerate(lines):
            color, marker = plots.look_of(number)
            joined = "-" if len(line) > 2 else "none"  # two sizes have no course
            known = line["confidence"] >= CONFIDENCE
            spread = [each.where(known) for each in (line["median"] - line["low"], line["high"] - line["median"])]
            rate.errorbar(
                line["processes"],
                line["median"],
                yerr=spread,
                color=color,
                marker=marker,
                linestyle=joined,
                capsize=3,
                label=label(line.iloc[0]),
            )
            share.plot(line["processes"], line["efficiency"], color=color, marker=marker, linestyle=joined)
            summaries.append(
                f"{label(line.iloc[0])}: {digits(line['median'].iloc[-1])} {first['unit']} on "
                f"{counted(line['processes'].iloc[-1], 'process')}, efficiency {line['efficiency'].iloc[-1]:.0%}"
            )
        share.axhline(1, color=GREY, linestyle=":", linewidth=1)
        for axis, name in ((rate, f"{first['metric']}, {first['unit']}"), (share, "efficiency")):
            plots.process_axis(axis, table["processes"])
            axis.set_ylabel(name)
            plots.from_zero(axis)
        share.yaxis.set_major_formatter(PercentFormatter(1))
        drawn.legend(*rate.get_legend_handles_labels(), loc="outside lower center", ncols=1, labelcolor=BLACK)
    return Figure(
        name=file_word(f"{first['benchmark']}-scaling"),
        title=f"{named(first['benchmark'], first['metric'])} over the number of processes",
        description=(
            "Median of the sessions, from six on with its interval of 95 %, and the bandwidth of a process over that "
            "at the smallest size. " + "; ".join(summaries) + "."
        ),
        data=table,
        canvas=drawn,
    )
