# SPDX-License-Identifier: Apache-2.0
"""How b_eff_io's kernel keeps its time: on a file system that is a formula, and by agreements."""

import json

import numpy as np
import pytest
from b_eff_io_files import files_by_definition
from b_eff_io_runs import ALL_TYPES, BRIEF, SMALL, run
from builds import faulty
from kernel_runs import good, records
from raw_log import read_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPES
from coffeecup.postprocess.benchmarks.scoring import score_log


def is_agreed(r):
    """Collective and driven by time: elsewhere a process's own clock or count decides."""
    return r["type"] in ("scatter", "shared") and r["scheduled_seconds"] > 0


def score_records(folder):
    """The metrics; the run's length by a clock that is a formula says nothing about the real one."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    last = json.loads(lines[-1]) | {"elapsed_seconds": 1e4}
    (folder / "log.jsonl").write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    return {name: metric.value for name, metric in score_log(folder / "log.jsonl").metrics.items()}


def test_processes_agree_only_in_collective_patterns_that_are_driven_by_time(openmpi, tmp_path):
    run(openmpi, tmp_path, 2, *BRIEF, f"--types {ALL_TYPES}")
    for r in read_log(tmp_path / "log.jsonl").records["measurement"]:
        assert (r["agreements"] > 0) == is_agreed(r) and (r["agreement_seconds"] > 0) == is_agreed(r)


def test_official_run_on_a_file_system_that_is_a_formula(openmpi, tmp_path):
    """Each process moves 1 MByte/s, a sync 4 MByte/s: two processes write 1.6 and read 2 MByte/s, b_eff_io = 0.5 * 1.6
    + 0.5 * 2."""
    env = faulty(openmpi, "b_eff_io", MODEL_BANDWIDTH=1e6, MODEL_SYNC_BANDWIDTH=4e6)
    good(run(openmpi, tmp_path, 2, "--largest-chunk 2MiB --partitions 2", env=env))
    log, score = read_log(tmp_path / "log.jsonl"), score_records(tmp_path)
    assert score["write"] == pytest.approx(1.6, rel=1e-3) and score["read"] == pytest.approx(2, rel=1e-3)
    assert score["b_eff_io"] == pytest.approx(1.8, rel=1e-3)
    assert score["b_eff_io_0_5"] == pytest.approx(1.6 * 2 / 3 + 2 / 3, rel=1e-3)
    for r in log.records["measurement"]:
        if r["method"] == "write" and r["scheduled_seconds"] and r["type"] in TYPES[:3]:
            one_call = r["call_bytes"] * (1 / 1e6 + 1 / 4e6)
            first = r["pattern"] == 1  # nothing is known yet about how long a sync takes
            late = abs(r["elapsed_seconds"] - r["scheduled_seconds"])
            assert first or late <= max(0.05 * r["scheduled_seconds"], one_call)
    took = sum(r["elapsed_seconds"] for r in log.records["pattern_type"] if r["method"] == "write")
    assert 0.95 * 300 <= took <= 1.05 * 300


def test_each_process_of_type_separate_stops_by_its_own_clock(openmpi, tmp_path):
    """Rank 1 takes twice as long for each call: half as many fit into a pattern's time, T / 3 * U / 64 = U seconds. Its
    count is the minimum, which sizes the segments; in rewrite each process repeats its own."""
    env = faulty(openmpi, "b_eff_io", MODEL_BANDWIDTH=1e6, MODEL_SLOW_RANK=1)
    good(run(openmpi, tmp_path, 2, *SMALL, "--scheduled-time 192 --partitions 2", env=env))
    log = read_log(tmp_path / "log.jsonl")
    table = {(r["method"], r["pattern"]): r for r in log.records["measurement"]}
    for number, units in ((20, 1), (21, 1), (22, 1), (23, 1)):
        written = table["write", number]
        assert written["calls_max"] == pytest.approx(units * 1e6 / written["call_bytes"], abs=1)
        assert written["calls_min"] == pytest.approx(units * 0.5e6 / written["call_bytes"], abs=1)
        assert written["calls_sum"] == written["calls_min"] + written["calls_max"]
        slowest = max(written["calls_max"], 2 * written["calls_min"]) * written["call_bytes"] / 1e6
        assert written["elapsed_seconds"] == pytest.approx(slowest) and written["ended_by"] == "time"
        again = table["rewrite", number]
        assert all(again[name] == written[name] for name in ("calls_min", "calls_max", "calls_sum"))
        segmented = table["write", number + 8]
        assert segmented["calls_min"] == segmented["calls_max"] == written["calls_min"]


def test_types_3_and_4_leave_out_calls_before_a_run_takes_more_than_twice_its_time(openmpi, tmp_path):
    """Type 4 takes a hundred times as long as its counts suppose: its first weighted pattern uses up the time of its
    method."""
    env = faulty(openmpi, "b_eff_io", MODEL_BANDWIDTH=2.5e6, MODEL_SLOW_FILE="n2-type4")
    done = run(openmpi, tmp_path, 2, *SMALL, "--scheduled-time 192 --partitions 2 --keep", env=env)
    assert done.returncode == 0 and "left out calls" in done.stdout, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    table = {(r["method"], r["pattern"]): r for r in log.records["measurement"]}
    overrun = [key for key, r in table.items() if r["ended_by"] == "overrun"]
    assert all(number >= (36 if method == "write" else 25) for method, number in overrun)
    for number in range(36, 42):
        assert table["write", number]["ended_by"] == "overrun" and table["write", number]["calls_max"] == 1
        assert table["write", number - 9]["calls_min"] > 1
    assert ("rewrite", 35) in overrun and table["rewrite", 35]["calls_max"] < table["write", 35]["calls_min"]
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    for name, data in files_by_definition(records(tmp_path / "log.jsonl"), 0, scratch):
        assert np.array_equal(np.fromfile(scratch / name, dtype=np.uint8), data), name
    score_records(tmp_path)
    score = score_log(tmp_path / "log.jsonl")
    assert not score.official and "overrun" in [q.key for q in score.qualifications]


def test_agreements_after_every_access_are_counted(openmpi, tmp_path):
    run(openmpi, tmp_path, 2, *BRIEF, "--agree-per-access --partitions 2")
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["termination"] == "per-access"
    assert all(r["agreements"] == (r["calls_min"] + 1 if is_agreed(r) else 0) for r in log.records["measurement"])
