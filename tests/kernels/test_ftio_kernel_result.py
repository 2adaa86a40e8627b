# SPDX-License-Identifier: Apache-2.0
"""The result of FTIO's kernel against NumPy's, and what it logs."""

from itertools import count

import pytest
from builds import faulty
from ftio_runs import assert_right, run
from kernel_runs import good, of_kind
from rates import assert_rates
from raw_log import read_log

from coffeecup.postprocess.benchmarks.ftio.rules import expected_bytes, tolerated_difference
from coffeecup.postprocess.benchmarks.scoring import score_log

BY_POSIX, BY_MPI = [(2, 2), (3, 6), (4, 6), (8, 8)], [(1, 3), (2, 10), (4, 2), (6, 6), (9, 3)]
MATRICES = [*((*sizes, "posix") for sizes in BY_POSIX), *((*sizes, "mpiio") for sizes in BY_MPI)]


@pytest.mark.parametrize("ranks, i, storage", [*MATRICES, pytest.param(16, 4, "posix", marks=pytest.mark.prove)])
def test_stored_file_is_the_transpose_of_numpys_transform(mpi, tmp_path, ranks, i, storage):
    good(run(mpi, tmp_path, ranks, f"--input {i} --keep --storage {storage} --exchange-buffer 1KiB"))
    assert_right(tmp_path / "ftio.jsonl")
    score = score_log(tmp_path / "ftio.jsonl")
    assert 0 < score.metrics["io_fraction"].value < 1


def test_direct_io_gives_the_same_result(mpi, tmp_path):
    done = run(mpi, tmp_path, 1, "--input 32 --keep --direct")
    if "may not support direct I/O" in done.stderr:
        pytest.skip("the file system of the temporary directory takes no direct I/O")
    assert done.returncode == 0, done.stderr
    assert_right(tmp_path / "ftio.jsonl")
    assert "direct" in {q.key for q in score_log(tmp_path / "ftio.jsonl").qualifications}


@pytest.mark.parametrize("kind", ["short", "interrupted"])
def test_short_and_interrupted_calls_are_continued(openmpi, tmp_path, kind):
    good(run(openmpi, tmp_path, 3, "--input 6 --keep", env=faulty(openmpi, "ftio", FAULT_KIND=kind)))
    assert_right(tmp_path / "ftio.jsonl")


@pytest.mark.rate
def test_log_accounts_for_bytes_and_time_of_every_repetition(mpi, tmp_path):
    """A process that loses its core between two stages has time that no stage accounts for."""
    folders = (tmp_path / str(number) for number in count())

    def accounted():
        folder = next(folders)
        folder.mkdir()
        good(run(mpi, folder, 2, "--input 24 --repeat 5"))
        assert not list(folder.glob("ftio-*"))
        return {"accounted": max(accounted_shares(read_log(folder / "ftio.jsonl")))}

    assert_rates(accounted, {"accounted": (0.98, 1)})


def accounted_shares(log):
    """For each repetition of the matrix of 1152 on two processes: the share of its time that its stages account for."""
    repetitions, measurements = log.records["repetition"], log.records["measurement"]
    assert [record["repetition"] for record in repetitions] == [1, 2, 3, 4, 5]
    shares = []
    for record in repetitions:
        mine = [m for m in measurements if m["repetition"] == record["repetition"]]
        moved = {(m["stage"], m["activity"]): m["bytes"] for m in mine if m["activity"] in ("read", "write")}
        assert moved == expected_bytes(1152, 2)
        shares.append(sum(m["mean_seconds"] for m in mine) / (sum(record["elapsed_seconds"]) / 2))
        assert record["verification"]["largest_relative_difference"] < tolerated_difference(1152)
    # the whole run is little more than its repetitions: nothing of weight goes on outside the timed stages
    assert sum(max(record["elapsed_seconds"]) for record in repetitions) < log.end["elapsed_seconds"]
    return shares


def with_task_clock(mpi, tmp_path, longer):
    """The `repetition` records of a run with the system's task clock in place of cycles, where a wait takes so many
    nanoseconds longer while the clock counts."""
    env = faulty(mpi, "ftio", PERF_TASK_CLOCK="1", WAIT_LONGER_NS=longer)
    good(run(mpi, tmp_path, 2, "--input 16 --repeat 2", env=env))
    found = of_kind(tmp_path / "ftio.jsonl", "repetition")
    if any("perf_event_open" in (r["counters"]["cycles_reason"] or "") for r in found):
        pytest.skip(f"no perf events here: {found[0]['counters']['cycles_reason']}")
    return found


def test_counter_that_makes_waits_longer_is_left_out(openmpi, tmp_path):
    """As in a virtual machine whose hypervisor is called for each access to a counter; the other side of the limit of
    10 us is the next test."""
    for r in with_task_clock(openmpi, tmp_path, 11_000):
        assert r["counters"]["cycles"] is None
        assert r["counters"]["cycles_reason"].startswith("the counter makes each wait of a process 11 us longer")


def test_counters_are_those_of_perf_events(openmpi, tmp_path):
    """With the system's task clock in place of cycles, the sum over the processes is the processor time that they took,
    in ns. The same clock counts no additions: what miscounts the known loop is left out, with its reason."""
    for r in with_task_clock(openmpi, tmp_path, 9_000):
        assert 0 < r["counters"]["cycles"] <= 1.01e9 * sum(r["elapsed_seconds"])
        computed = [m for m in of_kind(tmp_path / "ftio.jsonl", "measurement") if m["activity"] == "compute"]
        seconds_at_work = sum(2 * m["mean_seconds"] for m in computed if m["repetition"] == r["repetition"])
        assert r["counters"]["cycles"] > 0.1e9 * seconds_at_work
        assert r["counters"]["flops"] is None and "for a loop with" in r["counters"]["flops_reason"]


def test_processors_counters_count_cycles_and_operations(openmpi, tmp_path):
    """Where the system permits them: cycles of a processor of 0.3 to 10 GHz at most, operations about those of the
    formula."""
    good(run(openmpi, tmp_path, 1, "--input 32"))
    [record] = of_kind(tmp_path / "ftio.jsonl", "repetition")
    counters = record["counters"]
    for name in ("cycles", "flops"):
        assert (counters[name] is None) == bool(counters[f"{name}_reason"])
    if counters["cycles"] is None:
        pytest.skip(f"the processor's counters are not available here: {counters['cycles_reason']}")
    assert 0 < counters["cycles"] < 10e9 * record["elapsed_seconds"][0]
    if counters["flops"] is None:
        pytest.skip(f"operations cannot be counted here: {counters['flops_reason']}")
    assert 0.3 * record["nominal_flops"] < counters["flops"] < 10 * record["nominal_flops"]


def test_phases_are_timed_one_by_one(mpi, tmp_path):
    run(mpi, tmp_path, 2, "--input 8")
    seen = {(m["stage"], m["activity"]): m["calls"] for m in of_kind(tmp_path / "ftio.jsonl", "measurement")}
    width, square, i = 128, 64, 8
    assert seen["initialise", "write"] == seen["series_1", "read"] == seen["verify", "read"] == 2 * width
    assert seen["series_1", "fft"] == seen["series_2", "fft"] == 2 * width
    minis = 2 * 2 * i * i  # two processes, two Squares each
    assert seen["transpose", "read"] == seen["transpose", "write"] == minis * i
    assert seen["exchange", "read"] == seen["exchange", "exchange"] == 2  # a Square of 64 KiB each, in one piece
    assert square * square * 16 == 64 * 1024
