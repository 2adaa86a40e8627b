# SPDX-License-Identifier: Apache-2.0
"""What lies where in the files of b_eff_io's kernel, under Open MPI with both of its components for MPI-I/O and under
MPICH."""

import os
from pathlib import Path

import numpy as np
import pytest
from b_eff_io_files import files_by_definition
from b_eff_io_runs import ALL_TYPES, BRIEF, EACH, SMALL, leftovers, run
from kernel_runs import good, records
from raw_log import checked_bytes, read_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import patterns_rule
from coffeecup.postprocess.benchmarks.scoring import score_log

MIB = 2**20


@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [*(("openmpi", ranks) for ranks in (1, 2, 5)), ("openmpi_romio", 3), ("mpich", 3)],
    indirect=["mpi"],
)
def test_every_byte_lies_where_the_definition_says(mpi, tmp_path, ranks):
    good(run(mpi, tmp_path, ranks, *BRIEF, f"--keep --partitions {ranks} --alignment 3MiB"))
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    expected = dict(files_by_definition(records(tmp_path / "log.jsonl"), 0, scratch))
    assert {path.name for path in scratch.iterdir() if not path.name.startswith(".")} == set(expected)
    for name, data in expected.items():
        found = np.fromfile(scratch / name, dtype=np.uint8)
        assert found.size == data.size, name
        assert (found == data).all(), (name, int((found != data).argmax()))


@pytest.mark.parametrize(
    ("mpi", "ranks"), [("openmpi", 1), ("openmpi", 3), ("openmpi_romio", 3), ("mpich", 3)], indirect=["mpi"]
)
def test_all_types_pass_the_complete_check(mpi, tmp_path, ranks):
    good(run(mpi, tmp_path, ranks, *BRIEF, f"--check-all --types {ALL_TYPES}"))
    log = read_log(tmp_path / "log.jsonl")
    assert checked_bytes(log) == sum(r["bytes"] for r in log.records["measurement"] if r["method"] == "read")
    assert not leftovers(tmp_path) and score_log(tmp_path / "log.jsonl").metrics["b_eff_io"].value > 0


@pytest.mark.in_turn
def test_calls_and_sizes_follow_the_table(mpi, tmp_path):
    """Patterns end with their share of the space, long before their time."""
    run(mpi, tmp_path, 2, *SMALL, "--scheduled-time 600 --space-limit 300MiB")
    log = read_log(tmp_path / "log.jsonl")
    table = patterns_rule(2 * MIB)
    for r in log.records["measurement"]:
        name, chunk, call, _units = table[r["pattern"]]
        assert r["type"] == name and r["bytes"] == r["calls_sum"] * r["call_bytes"]
        assert r["calls_min"] == r["calls_max"] == r["calls_sum"] / r["partition"]
        assert chunk is None or (r["chunk_bytes"], r["call_bytes"]) == (chunk, call)
    written = {
        (r["partition"], r["pattern"]): r["calls_min"] for r in log.records["measurement"] if r["method"] == "write"
    }
    for partition in log.plan["partitions"]:
        counts = [written.get((partition, number), 0) for number in range(43)]
        for first in (25, 34):
            assert counts[first] == 1
            # chunks of types 0 (release 2.1 leaves out pattern 2), 1 (tenfold) and 2
            of_scatter = [(1, 1), (3, 1), (4, 32), (5, 1024), (6, 32), (7, 1024), (8, 1)]
            for k, (scatter, chunks) in enumerate(of_scatter, 1):
                assert counts[first + k] == min(counts[scatter] * chunks, 10 * counts[9 + k], counts[17 + k])
    for r in log.records["pattern_type"]:
        if r["type"].startswith("segmented"):
            assert r["segment_bytes"] % MIB == 0 and r["file_bytes"] == r["segment_bytes"] * r["partition"]


@EACH
@pytest.mark.in_turn
def test_individual_pointers_lay_out_the_same_file(mpi, tmp_path):
    good(run(mpi, tmp_path, 3, *BRIEF, "--keep --partitions 3 --individual-pointers"))
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    expected = dict(files_by_definition(records(tmp_path / "log.jsonl"), 0, scratch))["n3-type1"]
    assert (np.fromfile(scratch / "n3-type1", dtype=np.uint8) == expected).all()
    assert "individual_pointers" in [q.key for q in score_log(tmp_path / "log.jsonl").qualifications]


def test_top_clusters_form_rewrites_type_0_only(openmpi, tmp_path):
    good(run(openmpi, tmp_path, 3, *BRIEF, "--top-clusters --partitions 1,2,3"))
    log = read_log(tmp_path / "log.jsonl")
    assert {r["type"] for r in log.records["measurement"] if r["method"] == "rewrite"} == {"scatter"}
    order = [(r["method"], r["partition"]) for r in log.records["pattern_type"]]
    assert list(dict.fromkeys(order)) == [(method, k) for method in ("write", "rewrite", "read") for k in (1, 2, 3)]
    assert next(iter(score_log(tmp_path / "log.jsonl").metrics)) == "b_eff_io_2_1"


@pytest.mark.prove
def test_chunks_and_segments_beyond_what_an_int_counts(openmpi, tmp_path):
    """A chunk of 2 GiB + 8 MiB goes in one call, segments are 3 GiB; on a file system in memory, where there is
    room."""
    folder = Path("/dev/shm")
    space = os.statvfs(folder)
    if (
        space.f_bavail * space.f_frsize < 14 * 2**30
        or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") < 20 * 2**30
    ):
        pytest.skip("needs 14 GiB of memory for files and 3 GiB for buffers")
    sizes = "--scheduled-time 0.05 --largest-chunk 2056MiB --alignment 3GiB"
    kinds = f"--types separate,segmented --methods write,read --directory {folder}"
    good(run(openmpi, tmp_path, 1, *SMALL, sizes, kinds))
    types = read_log(tmp_path / "log.jsonl").records["pattern_type"]
    [segment] = {r["segment_bytes"] for r in types if r["type"] == "segmented"}
    assert segment == 3 * 2**30
