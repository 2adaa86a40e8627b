# SPDX-License-Identifier: Apache-2.0
"""How long 10 000 stored results take: read from a results database, judged, and drawn.

    .venv/bin/python tests/evidence/bench_results.py [--sessions 500]

A session has 20 results: ten metrics of b_eff at two sizes. The figures are printed, nothing is asserted.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import parsed
from sessions_made import case, database, each_night

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import findings, session_values
from coffeecup.postprocess.history.completeness import completeness
from coffeecup.postprocess.history.events import events
from coffeecup.postprocess.history.figures import trends
from coffeecup.postprocess.history.nodes import node_table, server_table
from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.reports.site_page import html, site_page
from coffeecup.postprocess.sessions.files import read_reports


def made(path, sessions, seed=20261121):
    """A database with a level that drops by a tenth in the last quarter."""
    rng = np.random.default_rng(seed)
    metrics = list(benchmarks()["b_eff"].units.items())[:10]

    def measured(number):
        level = 900 if number > 0.75 * sessions else 1000
        values = level * (1 + 0.02 * rng.standard_normal(len(metrics)))
        return {name: (value, 1000, -0.2, 0.2, unit, "pass") for value, (name, unit) in zip(values, metrics)}

    def of_night(number):
        return [case(measured(number), processes=size) for size in (2, 4)]

    return database(path, each_night(sessions, of_night))


def main():
    options = parsed(__doc__, sessions=500)
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
        stored = made(Path(folder, "results.db"), options.sessions)
        times, cpu = [time.perf_counter()], time.process_time()

        def told(what):
            times.append(time.perf_counter())
            seconds = times[-1] - times[-2], times[-1] - times[0], time.process_time() - cpu
            print("{:50} {:6.2f} s, {:6.2f} s in all, {:6.2f} s of a core".format(what, *seconds), flush=True)

        reports = read_reports([stored])
        cases, table = case_table(reports), history_table(reports)
        told(f"{len(table)} results of {options.sessions} sessions read")
        values = session_values(table)
        found = findings(values)
        told(f"{len(found)} changes found in {values.groupby(['metric', 'processes']).ngroups} series")
        nodes = node_table(table), server_table(table)
        parts = site_page(values, events(values, found), cases, completeness(cases), nodes, [])
        page = html(parts, "coffeecup site report", [])
        told(f"site page of {len(page) / 1e6:.2f} MByte drawn")
        paths = [path for figure in trends(values, found) for path in figure.save(Path(folder), "history")]
        told(f"every metric drawn, {len(paths)} files")


if __name__ == "__main__":
    main()
