# SPDX-License-Identifier: Apache-2.0
"""The figures of PRIOMark, as in the paper: bandwidth of each access method, bandwidth over the block size (figure 6),
the distribution of latencies, and bandwidth over processes for each file system and workload (figures 3 to 5)."""

from pathlib import Path
from typing import cast

import matplotlib
import pandas as pd
from matplotlib.ticker import FuncFormatter

from coffeecup.postprocess.benchmarks.priomark import reduction
from coffeecup.postprocess.benchmarks.priomark.records import Latencies, Measurement, Plan
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.hosts import system
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, printable, seconds, size

DASHES = ("-", "--", ":", "-.")
PARALLEL = ("common_file", "strided", "async")  # averaged in the paper's figure 3
MOST_BARS = 40


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """All figures for which `table`, the log's rows of a measurement_table, holds measurements."""
    if table.empty:
        return []
    cases = reduction.case_table(table)
    with matplotlib.rc_context(plots.LOOK):
        swept = [
            (str(name), rows)
            for name, rows in cases.groupby("benchmark", sort=False)
            if rows.groupby("process_bytes")["block_bytes"].nunique().max() > 1
        ]
        return [accesses(cases), *(over_blocks(name, rows) for name, rows in swept), *spread(log)]


def accesses(cases: pd.DataFrame) -> Figure:
    """Mean bandwidth by sub-benchmark, pattern and method: a bar each."""
    data = (
        cases.groupby(["benchmark", "pattern", "method"], sort=False)["bandwidth"]
        .mean()
        .rename("mbyte_per_second")
        .reset_index()
    )
    shown = data.head(MOST_BARS)
    drawn, [axes] = plots.canvas(8.6, 1.1 + 0.24 * len(shown))
    names = list(data["benchmark"].unique())
    colours = [plots.LINES[names.index(name) % len(plots.LINES)][0] for name in shown["benchmark"]]
    axes.barh(range(len(shown)), shown["mbyte_per_second"], color=colours, height=0.7)
    axes.set_yticks(
        range(len(shown)),
        [" ".join(row) for row in shown[["benchmark", "pattern", "method"]].itertuples(index=False)],
        fontsize=8,
    )
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("bandwidth of all processes, MByte/s")
    plots.plain_numbers(axes.xaxis)
    left_out = f" The first {len(shown)} of {len(data)} are drawn." if len(shown) < len(data) else ""
    return Figure(
        "accesses",
        "Bandwidth by sub-benchmark, pattern and method",
        f"Mean over data sizes, block sizes and repetitions. {extremes(data)}{left_out}",
        data,
        drawn,
    )


def extremes(data: pd.DataFrame) -> str:
    """The cases with the lowest and the highest bandwidth, in words."""
    low, high = data.iloc[data["mbyte_per_second"].argmin()], data.iloc[data["mbyte_per_second"].argmax()]
    return " ".join(
        f"{which}: {digits(row['mbyte_per_second'], NARROW_SPACE)} MByte/s, {row['benchmark']}, {row['pattern']}, "
        f"{row['method']}."
        for which, row in (("Least", low), ("Most", high))
    )


def over_blocks(name: str, rows: pd.DataFrame) -> Figure:
    """The paper's figure 6: bandwidth over the size of a request; a panel per data size, a line per pattern and
    method."""
    data = (
        rows.dropna(subset="block_bytes")
        .groupby(["process_bytes", "pattern", "method", "block_bytes"])["bandwidth"]
        .mean()
        .rename("mbyte_per_second")
        .reset_index()
        .astype({"block_bytes": int})
    )
    sizes = sorted(data["process_bytes"].unique())
    blocks = sorted(data["block_bytes"].unique())
    kinds = list(data[["pattern", "method"]].drop_duplicates().itertuples(index=False, name=None))
    drawn, panels = plots.canvas(max(6.4, 2.9 * min(len(sizes), 4)), 3.8, columns=min(len(sizes), 4), sharey=True)
    for axes, process_bytes in zip(panels, sizes):
        for place, kind in enumerate(kinds):
            line = data[
                (data["process_bytes"] == process_bytes) & (data["pattern"] == kind[0]) & (data["method"] == kind[1])
            ]
            colour, marker = plots.LINES[place % len(plots.LINES)]
            axes.plot(
                [blocks.index(block) for block in line["block_bytes"]],
                line["mbyte_per_second"],
                color=colour,
                marker=marker,
                linestyle=DASHES[place // len(plots.LINES) % len(DASHES)],
                label=", ".join(kind),
            )
        labels = [size(block) for block in blocks]
        axes.set_xticks(range(len(blocks)), labels, fontsize=8, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_xlabel("request")
        axes.set_title(f"{size(process_bytes)} each")
    plots.from_zero(*panels)
    panels[0].set_ylabel("MByte/s of all processes")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    best = data.iloc[data["mbyte_per_second"].argmax()]
    return Figure(
        f"blocks-{name}",
        f"{name}: bandwidth over the size of a request",
        "The paper's figure 6. A panel for each amount of data per process. Most: "
        f"{digits(best['mbyte_per_second'], NARROW_SPACE)} MByte/s at {size(best['block_bytes'])}.",
        data,
        drawn,
    )


def spread(log: Log[Plan]) -> list[Figure]:
    """Latencies: the share of requests that took longer than a given time, a line per sub-benchmark and operation."""
    found = [(record.benchmark, latencies) for record in log.all(Measurement) for latencies in record.latencies]
    lines = {
        kind: exceeding([entry for name, entry in found if (name, entry.operation) == kind])
        for kind in dict.fromkeys((name, latencies.operation) for name, latencies in found)
    }
    kinds = [kind for kind, line in lines.items() if not line.empty]  # empty if all took equally long
    if not kinds:
        return []
    data = pd.concat([lines[kind].assign(benchmark=kind[0], operation=kind[1]) for kind in kinds], ignore_index=True)
    drawn, [axes] = plots.canvas(8.6, 3.6)
    for place, kind in enumerate(kinds):
        line = data[(data["benchmark"] == kind[0]) & (data["operation"] == kind[1])]
        axes.step(
            line["milliseconds"],
            line["share_longer"],
            where="post",
            color=plots.LINES[place // 2 % len(plots.LINES)][0],
            linestyle="-" if kind[1] == "read" else "--",
            label=f"{kind[0]} {kind[1]}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    plots.plain_numbers(axes.xaxis)
    axes.yaxis.set_major_formatter(FuncFormatter(plots.power_of_ten))
    axes.set_xlabel("time of a request, ms")
    axes.set_ylabel("share of requests that took longer")
    drawn.legend(loc="outside right upper")
    slowest = max((latencies.longest_seconds, name, latencies.operation) for name, latencies in found)
    return [
        Figure(
            "latencies",
            "How long requests took",
            "The steeper a line falls, the steadier the service. The longest request, a "
            f"{slowest[2]} of {slowest[1]}, took {seconds(slowest[0])}.",
            data,
            drawn,
        )
    ]


def exceeding(latencies: list[Latencies]) -> pd.DataFrame:
    """The share of the calls that took at least as long, over the ends of the bins."""
    bins = (
        pd.DataFrame(
            [(to, calls) for found in latencies for to, calls in zip(found.to_seconds, found.bin_calls)],
            columns=["to_seconds", "calls"],
        )
        .groupby("to_seconds")["calls"]
        .sum()
    )
    longer = (bins.sum() - bins.cumsum()) / bins.sum()
    return pd.DataFrame({"milliseconds": 1e3 * longer.index, "share_longer": longer.to_numpy()}).query(
        "share_longer > 0"
    )


def over_sizes(scores: list[Score]) -> Figure:
    """The paper's figures 3 to 5: bandwidth over processes, a colour for each file system of a system and a dash for
    each workload; a panel for the mean of the parallel sub-benchmarks, one for single_file, and one for the total where
    a log has neither."""
    data = pd.concat([values_of(score) for score in scores], ignore_index=True)
    systems, workloads = list(data["filesystem"].unique()), list(data["workload"].unique())
    titles = list(data["part"].unique())
    with matplotlib.rc_context(plots.LOOK):
        drawn, panels = plots.canvas(4.6 * len(titles) + 1.6, 3.6, columns=len(titles))
        for axes, title in zip(panels, titles):
            part = data[data["part"] == title]
            for (filesystem, workload), line in part.groupby(["filesystem", "workload"], sort=False):
                colour, marker = plots.LINES[systems.index(filesystem) % len(plots.LINES)]
                means = line.groupby("processes")["mbyte_per_second"].mean()
                axes.plot(
                    means.index,
                    means,
                    color=colour,
                    marker=marker,
                    linestyle=DASHES[workloads.index(workload) % len(DASHES)],
                    label=printable(f"{filesystem}, {Path(workload).name}"),
                )
            plots.process_axis(axes, part["processes"])
            plots.from_zero(axes)
            axes.set_title(title)
        panels[0].set_ylabel("bandwidth of all processes, MByte/s")
        labelled = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())}
        drawn.legend(labelled.values(), labelled.keys(), loc="outside right upper")
    return Figure(
        "sizes",
        "Bandwidth over the number of processes, by file system and workload",
        f"The paper's figures 3 to 5; repeated runs are averaged. {compared(data)}".strip(),
        data,
        drawn,
    )


def values_of(score: Score) -> pd.DataFrame:
    """A score's values, a row for each part of the figure that it has."""
    value = {name: metric.value for name, metric in score.metrics.items()}
    parallel = [value[name] for name in PARALLEL if name in value]
    parts = {", ".join(name for name in PARALLEL if name in value): sum(parallel) / len(parallel)} if parallel else {}
    parts |= {"single_file": value["single_file"]} if "single_file" in value else {}
    run = score.log.run
    return pd.DataFrame(
        [
            (part, f"{system(run)}, {run.tested_filesystem.name}", score.log.plan.workload, run.ranks, mean)
            for part, mean in (parts or {"total": value["total"]}).items()
        ],
        columns=["part", "filesystem", "workload", "processes", "mbyte_per_second"],
    )


def compared(data: pd.DataFrame) -> str:
    """Compares file systems that ran the same workload on the same number of processes, and workloads likewise."""
    sentences = []
    for varied, fixed in (("filesystem", "workload"), ("workload", "filesystem")):
        for (part, same, processes), rows in data.groupby(["part", fixed, "processes"], sort=False):
            means = rows.groupby(varied, sort=False)["mbyte_per_second"].mean().sort_values(ascending=False)
            if len(means) > 1:
                values = ", ".join(f"{name} {digits(mean, NARROW_SPACE)}" for name, mean in means.items())
                sentences.append(
                    f"{part}, {same}, {counted(cast(int, processes), 'process')}: {values} MByte/s, a factor of "
                    f"{digits(means.iloc[0] / means.iloc[-1])}."
                )
    return " ".join(sentences)
