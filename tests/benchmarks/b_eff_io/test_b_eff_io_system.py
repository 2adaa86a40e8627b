# SPDX-License-Identifier: Apache-2.0
"""The value of a system over partitions and over several jobs: the largest, of one file system, official and other runs
apart."""

import logs_made
import numpy as np
import pytest
from commands import run
from logs_made_b_eff_io import b_eff_io_log

from coffeecup.postprocess.benchmarks.b_eff_io.figures import over_sizes
from coffeecup.postprocess.benchmarks.b_eff_io.system import system_values, together
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.reports.page import items


@pytest.fixture
def jobs(tmp_path):
    """Logs of jobs, each given as its bandwidths in byte/s by partition."""

    def make(*made):
        paths = []
        for number, (by_partition, options) in enumerate(made):
            records = b_eff_io_log(
                lambda partition, method, name, rates=by_partition: rates[partition],
                partitions=tuple(by_partition),
                ranks=max(by_partition),
                **{"nodes": 1} | {key: value for key, value in options.items() if key not in ("filesystem", "asked")},
            )
            records[0]["filesystem"] |= options.get("filesystem", {})
            records[0]["environment"]["COFFEECUP_ASKED"] = options.get("asked", "")
            paths.append(logs_made.write(tmp_path / f"{number}.jsonl", records))
        return paths

    return make


def rows(paths):
    return {
        (system.filesystem.type, system.best.standing): {
            **system.values,
            "jobs": system.jobs,
            "processes": system.processes,
            "log": str(system.best.log.path),
        }
        for system in system_values(score_logs(paths))
    }


def test_largest_of_all_partitions_of_all_jobs_is_the_systems_value(jobs):
    found = rows(jobs(({2: 1e8, 4: 3e8}, {}), ({8: 2.5e8}, {}), ({16: 2.9e8}, {})))
    [row] = found.values()
    assert (row["jobs"], row["processes"]) == (3, 4) and row["log"].endswith("0.jsonl")
    for name in ("b_eff_io", "b_eff_io_2_1", "b_eff_io_0_5"):
        # release 0.5 leaves out opening and closing, 2 % of the time in these logs
        assert row[name] == pytest.approx(300 / (0.98 if name.endswith("0_5") else 1), rel=0.01)


def test_short_run_never_raises_the_value_of_official_ones(jobs):
    found = rows(jobs(({2: 1e8}, {}), ({4: 9e8}, {"scheduled": 60.0})))
    assert found["lustre", "official"]["b_eff_io"] == pytest.approx(100, rel=0.01)
    assert found["lustre", "not official"]["b_eff_io"] == pytest.approx(900, rel=0.02)


def test_file_systems_are_not_mixed(jobs):
    found = rows(jobs(({2: 1e8}, {}), ({2: 2e8}, {}), ({4: 7e8}, {"filesystem": {"type": "ext4"}})))
    assert found["lustre", "official"]["b_eff_io"] == pytest.approx(200, rel=0.01)
    assert found["ext4", "official"]["jobs"] == 1
    servers = jobs(({2: 1e8}, {}), ({2: 2e8}, {"filesystem": {"source": "other:/scratch"}}))
    assert len(system_values(score_logs(servers))) == 2


def test_top_clusters_runs_count_by_release_2_1_where_nothing_else_is(jobs):
    short = {"form": "top-clusters", "scheduled": 600.0}
    alone = rows(jobs(({2: 1e8, 4: 2e8, 8: 4e8}, short), ({2: 1e8, 4: 2e8, 8: 3e8}, short)))
    assert (alone["lustre", "official"]["processes"], alone["lustre", "official"]["jobs"]) == (8, 2)
    assert alone["lustre", "official"]["b_eff_io_2_1"] == pytest.approx(400, rel=0.01)
    mixed = rows(jobs(({2: 1e8, 4: 2e8, 8: 4e8}, short), ({16: 1e8}, {})))
    assert mixed["lustre", "official"]["b_eff_io"] == pytest.approx(100, rel=0.01)
    assert mixed["lustre", "official"]["processes"] == 16


def test_scores_of_several_jobs_end_with_the_systems_value(jobs):
    paths = jobs(({2: 1e8}, {}), ({4: 3e8}, {}), ({4: 5e8}, {"scheduled": 60.0}))
    [sentence] = together(score_logs(paths))
    assert sentence.startswith("System value over 2 jobs on lustre server:/scratch of 931323 GiB, official: ")
    assert sentence.endswith("MByte/s, by 4 processes.")
    assert sentence.isprintable()  # on every terminal
    assert "System value over 2 jobs" in run("score", *paths).stdout
    assert "System value" not in run("score", paths[0]).stdout


PER_NODE = {"nodes": 4, "asked": "processes_per_node=2,partition=a:alpha"}


@pytest.mark.slow
def test_lines_of_the_figure_join_runs_of_one_system_file_system_and_time_only(jobs):
    """The paper's figures 2 and 4 have a line for each system and each T."""
    paths = jobs(
        ({2: 1e8, 8: 3e8}, PER_NODE),
        ({8: 2e8}, PER_NODE),  # on the line of the first one, below it
        ({8: 4e8}, PER_NODE | {"scheduled": 1800.0}),
        ({8: 5e8}, PER_NODE | {"filesystem": {"type": "ext4"}}),
        ({8: 6e8}, PER_NODE | {"nodes": 8, "asked": "processes_per_node=1,partition=a:alpha"}),
        ({8: 7e8}, PER_NODE | {"asked": "processes_per_node=2,partition=a:beta"}),
        ({8: 8e8}, PER_NODE | {"scheduled": 60.0}),
        ({8: 9e8}, {}),
        ({2: 9e8, 4: 9e8, 8: 1e9}, PER_NODE | {"scheduled": 600.0, "form": "top-clusters"}),
    )
    figure = over_sizes(score_logs(paths))
    [axes] = figure.canvas.axes
    lines = {
        str(line.get_label()): dict(zip(np.ravel(line.get_xdata()), np.ravel(line.get_ydata())))
        for line in axes.lines
        if line.get_linestyle() != "None"
    }
    lustre = "lustre server:/scratch of 931323 GiB"
    assert {label: len(points) for label, points in lines.items()} == {
        f"a:alpha, 2 per node, {lustre}, T = 15 min": 2,
        f"a:alpha, 2 per node, {lustre}, T = 30 min": 1,
        "a:alpha, 2 per node, ext4 server:/scratch of 931323 GiB, T = 15 min": 1,
        f"a:alpha, 1 per node, {lustre}, T = 15 min": 1,
        f"a:beta, 2 per node, {lustre}, T = 15 min": 1,
        f"a:alpha, 2 per node, {lustre}, T = 60 s, not official": 1,
        f"node*, one node, {lustre}, T = 15 min": 1,
        f"a:alpha, 2 per node, {lustre}, T = 10 min, Top Clusters": 3,
    }
    joined = lines[f"a:alpha, 2 per node, {lustre}, T = 15 min"]
    assert joined == {2: pytest.approx(100, rel=0.01), 8: pytest.approx(300, rel=0.01)}
    assert "T = 15 min" in next(item for item in items(paths[:1])[0].figures if item.name == "partitions").description
