# SPDX-License-Identifier: Apache-2.0
"""The figure of a comparison: at which sizes of messages or accesses the arms differ."""

from math import exp
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from coffeecup.postprocess.benchmarks.registry import functions
from coffeecup.postprocess.benchmarks.scoring import evaluate, read
from coffeecup.postprocess.comparison.plan import CONTROL
from coffeecup.postprocess.comparison.result import Results
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import GREY, Figure
from coffeecup.postprocess.show.words import size


def figures(results: Results) -> list[Figure]:
    """Ratios to the first arm over the size, medians and quartiles of the pairs; none if the benchmark has no sizes."""
    table, first, arms = by_size(results), results.plan.first, (CONTROL, *results.plan.others)
    if table.empty:
        return []
    quartiles = pd.concat({arm: shares(table, arm, first) for arm in arms}, names=["arm"]).reset_index()
    sizes = sorted(set(quartiles["size_bytes"]))
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(7.5, 4)
        axes.axhline(0, color=GREY, linewidth=0.8)
        for arm, (colour, marker) in zip(arms, [(GREY, "."), *map(plots.look_of, range(len(arms)))]):
            rows = quartiles[quartiles["arm"] == arm]
            places = rows["size_bytes"].map(sizes.index)
            axes.plot(places, rows["median"] - 1, color=colour, marker=marker, label=arm)
            axes.fill_between(places, rows["low"] - 1, rows["high"] - 1, color=colour, alpha=0.2, linewidth=0)
        shown = range(0, len(sizes), 2)
        axes.set_xticks(shown, [size(sizes[place]) for place in shown], rotation=35, ha="right", rotation_mode="anchor")
        axes.set_xlabel("size of a message or access")
        axes.set_ylabel(f"bandwidth relative to the arm '{first}'")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.legend()
    described = (
        f"The bandwidth of each arm relative to that of {first}: medians and quartiles of the pairs, over the size. "
        "All measurements of a size count the same; the score weighs them, so it can change in the other direction."
    )
    return [Figure("ratio", f"Where the arms differ from {first}", described, quartiles, drawn)]


def by_size(results: Results) -> pd.DataFrame:
    """Columns block, arm, size_bytes and log_mean, of the bandwidths (the logarithm of their geometric mean) of all
    measurements of that size."""
    rows = []
    for (block, arm), score in results.scores.items():
        column, log = functions(score.benchmark).size_column, read(Path(score.log.path))
        if not column or isinstance(log, LogError) or (table := evaluate([log])[0].table) is None:
            continue
        measured = table[table["bandwidth"] > 0]
        means = measured.assign(log_mean=np.log(measured["bandwidth"])).groupby(column)["log_mean"].mean()
        rows.append(pd.DataFrame({"block": block, "arm": arm, "size_bytes": means.index, "log_mean": means.to_numpy()}))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def shares(table: pd.DataFrame, arm: str, first: str) -> pd.DataFrame:
    """Quartiles over the pairs of the ratio of an arm to the first one: columns low, median, high, by size. Sizes that
    a pair lacks are left out: b_eff_io fills up its segments with what other accesses left, which changes from run to
    run."""
    wide = table.pivot(index=["size_bytes", "block"], columns="arm", values="log_mean").reindex(columns=[arm, first])
    by_pair = wide[arm].sub(wide[first]).unstack("block").dropna(axis=1, how="all").dropna()
    low, median, high = (by_pair.quantile(share, axis=1) for share in (0.25, 0.5, 0.75))
    return pd.DataFrame({"low": low, "median": median, "high": high}).map(exp)
