# SPDX-License-Identifier: Apache-2.0
"""How much runs of b_eff on one machine differ: (largest - smallest) / median of their metrics, of the first pass
alone, and of each message length with its share of b_eff; and the round trips that the probes measured.

    .venv/bin/python tests/evidence/spread_of_runs.py LOG...

docs/evidence/b_eff.md says how its logs were made. The figures are printed, nothing is asserted.
"""

import argparse
from pathlib import Path

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.probes.records import Probe
from coffeecup.postprocess.benchmarks.b_eff.reduction import b_eff, best_bandwidth, measurement_table
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

METRICS = ("b_eff", "ping_pong_latency", "ring_latency")


def spread(values: pd.Series) -> str:
    return f"{(values.max() - values.min()) / values.median():.0%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", type=Path, nargs="+")
    paths = parser.parse_args().logs
    scores = [score_log(path) for path in paths]
    for name in METRICS:
        values = pd.Series([score.metrics[name].value for score in scores if name in score.metrics])
        each = ", ".join(f"{value:.4g}" for value in values)
        print(f"{name}: {spread(values)}, {each}" if each else f"{name}: not measured")
    logs = [read_log(path) for path in paths]
    table = measurement_table(logs)
    if table["repetition"].max() > 1:
        first = b_eff(best_bandwidth(table[table["repetition"] == 1]))
        gains = b_eff(best_bandwidth(table)) / first - 1
        print(f"first pass alone: {spread(first)}; all passes are {gains.min():.0%} to {gains.max():.0%} above it")
    best = table[table["averaged"]].groupby(["log", "message_bytes", "pattern"], observed=True)["bandwidth"].max()
    by_length = best.groupby(["log", "message_bytes"]).mean().unstack("log")
    shares = by_length.mean(axis=1) / by_length.mean(axis=1).sum()
    for length, values in by_length.iterrows():
        print(f"{length} byte: {spread(values)}, {shares[length]:.1%} of b_eff")
    for path, log in zip(paths, logs):
        trips = [min(host.shortest_round_trip_seconds for host in probe.hosts if host) for probe in log.all(Probe)]
        print(f"{path.name}: round trips of {', '.join(f'{1e9 * trip:.0f}' for trip in trips) or 'no probe'} ns")


if __name__ == "__main__":
    main()
