# SPDX-License-Identifier: Apache-2.0
"""The kernels log on which servers the processes' own files are. Every file has an attribute as on Lustre, made up by
faults/lustre.c: the target of a file is the remainder of its number divided by three. test_io_servers.py has
GlusterFS."""

import b_eff_io_runs
import pytest
from b_eff_io_runs import BRIEF
from builds import faulty
from kernel_runs import good, of_kind, records, run
from priomark_runs import command as priomark

from coffeecup.postprocess.benchmarks.scoring import score_log

RANKS = 4
WORKLOAD = """
common_file = { process_size = "64KiB"; block_size = "16KiB"; };
single_file = { process_size = "64KiB"; block_size = "16KiB"; patterns = ["write", "backwards-read"]; };
raw = { process_size = "64KiB"; block_size = "16KiB"; };
repetitions = 2;
"""


def targets(record):
    return [record["servers"][place] for place in record["files"]]


def striped(server=None):
    """As faults/lustre.c answers: one stripe of 1 MiB."""
    return {"parts": 1, "stripes": 1, "stripe_bytes": 2**20, "pool": None, "server": server}


def stripings(path, kind, *names):
    """The only striping of the files of each record, by these fields; each has a preferred size."""
    found = {}
    for record in of_kind(path, kind):
        [striping] = record["striping"] or [None]
        assert striping is None or striping.pop("preferred_bytes") >= 512
        found[tuple(record[name] for name in names)] = striping
    return found


def target(process, shift=0, processes=RANKS):
    return f"OST{(process + shift) % processes % 3:04x}"


@pytest.mark.parametrize(
    ("name", "shift"),
    [
        ("openmpi", 0),
        ("mpich", 1),
        pytest.param("openmpi", 1, marks=pytest.mark.prove),
        pytest.param("mpich", 0, marks=pytest.mark.prove),
    ],
)
def test_b_eff_io_logs_the_servers_of_the_files_that_each_process_accessed(request, tmp_path, name, shift):
    """With --read-shift on a single node, each process reads what the next one wrote."""
    options = (*BRIEF, "--partitions", "2,4", *["--read-shift"] * shift)
    mpi = request.getfixturevalue(name)
    good(b_eff_io_runs.run(mpi, tmp_path, RANKS, *options, env=faulty(mpi, "lustre")))
    found = {(r["partition"], r["method"], r["type"]): targets(r) for r in of_kind(tmp_path / "log.jsonl", "layout")}
    assert found == {
        (processes, method, "separate"): [
            target(process, shift * (method == "read"), processes) for process in range(processes)
        ]
        for processes in (2, 4)
        for method in ("write", "rewrite", "read")
    }
    for (_, kind), striping in stripings(tmp_path / "log.jsonl", "pattern_type", "partition", "type").items():
        shared = striping.pop("server")
        assert striping == {key: value for key, value in striped().items() if key != "server"}
        assert shared is None if kind == "separate" else shared in ("OST0000", "OST0001", "OST0002")
    assert score_log(tmp_path / "log.jsonl").log.run.ranks == RANKS


@pytest.mark.parametrize(("storage", "logged"), [("posix", 2), ("mpiio", 0)])
def test_ftio_logs_the_servers_of_the_files_of_each_repetition(openmpi, tmp_path, storage, logged):
    if not (openmpi.bin / "ftio").exists():
        pytest.skip("ftio was not built: there is no FFTW")
    options = ("--input", 4, "--repeat", 2, "--storage", storage, "--log", "log.jsonl")
    good(openmpi.run(RANKS, "ftio", *options, env=faulty(openmpi, "lustre"), cwd=tmp_path))
    layouts = of_kind(tmp_path / "log.jsonl", "layout")
    assert [targets(record) for record in layouts] == [[target(process) for process in range(RANKS)]] * logged
    shared = {True: None, False: target(0)}[storage == "posix"]
    found = stripings(tmp_path / "log.jsonl", "repetition", "repetition")
    assert found == {(repetition,): striped(shared) for repetition in (1, 2)}
    assert score_log(tmp_path / "log.jsonl").log.run.ranks == RANKS


@pytest.mark.parametrize("shift", [0, 1])
def test_priomark_logs_the_servers_of_files_of_a_process(openmpi, tmp_path, shift):
    words = priomark(openmpi, tmp_path, WORKLOAD, RANKS, *["--read-shift"] * shift, env=faulty(openmpi, "lustre"))
    good(run(words, env=openmpi.environment))
    own = [case for case in records(tmp_path / "log.jsonl")[1]["cases"] if case["benchmark"] in ("single_file", "raw")]
    found = {(r["case"], r["repetition"]): targets(r) for r in of_kind(tmp_path / "log.jsonl", "layout")}
    assert {case["benchmark"] for case in own} == {"single_file", "raw"}
    assert found == {
        (case["case"], repetition): [target(process, shift * (case["pattern"] != "write")) for process in range(RANKS)]
        for case in own
        for repetition in (1, 2)
    }
    for (kind,), striping in stripings(tmp_path / "log.jsonl", "measurement", "benchmark").items():
        assert (striping["stripes"], striping["server"] is None) == (1, kind != "common_file")
    assert score_log(tmp_path / "log.jsonl").log.run.ranks == RANKS
