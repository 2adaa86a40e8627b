# SPDX-License-Identifier: Apache-2.0
"""The kernel of ftio: its result against NumPy's, faults that its verification must find, and how it ends when it
cannot go on."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import NOT_COMPLETE, OPEN_MPI, PATIENCE
from file_systems import memory, vanish
from raw_log import read_log

from postprocess.benchmarks.ftio.rules import expected_bytes, tolerated_difference
from postprocess.benchmarks.ftio.sizes import automatic_input, input_for_bytes
from postprocess.benchmarks.scoring import score_log

FAULTS = Path(__file__).parent / "faults" / "ftio.c"
MIB = 2**20


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request):
    """An MPI for which there is a ftio: FFTW has to be built for it."""
    found = request.getfixturevalue(request.param)
    if not (found.bin / "ftio").exists():
        pytest.skip(f"ftio was not built with {request.param}: there is no FFTW for this MPI")
    return found


@pytest.fixture(scope="session")
def faults(openmpi, tmp_path_factory):
    """The library that injects faults."""
    library = tmp_path_factory.mktemp("faults") / "ftio.so"
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, FAULTS, "-ldl"], check=True
    )
    return library


def records(log):
    return [json.loads(line) for line in Path(log).read_text().splitlines()]


def of_kind(log, kind):
    return [record for record in records(log) if record["record"] == kind]


def error(done):
    """The one line with which a kernel gives up."""
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def stored_matrix(log):
    """The kept result, put together from the strips of all processes, or from the shared file."""
    plan, folder = records(log)[1], Path(log).parent / of_kind(log, "start")[0]["directory"]
    width = plan["matrix_width"]
    if plan["storage"] == "mpiio":
        return np.fromfile(folder / "matrix", dtype=complex).reshape(width, width)
    return np.hstack([np.fromfile(strip, dtype=complex).reshape(width, -1) for strip in sorted(folder.glob("strip-*"))])


def transform_by_numpy(width):
    """The transpose of the two-dimensional transform of the specification's matrix."""
    p, q = np.ogrid[:width, :width]
    matrix = (
        np.exp(2j * np.pi * p / width) + np.exp(2j * np.pi * q / width) + (q == (p + 1) % width) + ((p == 0) & (q == 1))
    )
    return np.fft.fft2(matrix).T


def assert_right(log):
    found, expected = stored_matrix(log), transform_by_numpy(records(log)[1]["matrix_width"])
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= 1e-9 * np.abs(expected)).all()


def run(mpi, folder, ranks, *options, env=None, **popen):
    """Run ftio in a folder; `env` reaches the kernel and not the launcher."""
    kernel = ["env", *(f"{name}={value}" for name, value in (env or {}).items()), str(mpi.bin / "ftio")]
    return subprocess.run(
        [mpi.mpirun, "-np", str(ranks), *kernel, *map(str, options)],
        cwd=folder,
        env=os.environ | OPEN_MPI,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **popen,
    )


# --- the result -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranks, i",
    [
        (1, 2),
        (1, 3),
        (1, 7),
        (2, 2),
        (2, 4),
        (2, 10),
        (3, 3),
        (3, 6),
        (4, 2),
        (4, 4),
        (4, 6),
        (6, 6),
        (6, 12),
        (8, 4),
        (8, 8),
        (9, 3),
        (9, 6),
        (16, 4),
        (16, 8),
    ],
)
@pytest.mark.parametrize("storage", ["posix", "mpiio"])
def test_stored_file_is_the_transpose_of_numpys_transform(mpi, tmp_path, ranks, i, storage):
    if storage == "mpiio" and ranks * i > 40:
        pytest.skip("the shared file is tried on the smaller sizes")
    done = run(mpi, tmp_path, ranks, "--input", i, "--keep", "--storage", storage, "--exchange-buffer", "1KiB")
    assert done.returncode == 0, done.stderr
    assert_right(tmp_path / "ftio.jsonl")
    score = score_log(tmp_path / "ftio.jsonl")
    assert 0 < score.metrics["io_fraction"].value < 1


def test_direct_io_gives_the_same_result(mpi, tmp_path):
    done = run(mpi, tmp_path, 2, "--input", 32, "--keep", "--direct")
    if "may not support direct I/O" in done.stderr:
        pytest.skip("the file system of the temporary directory takes no direct I/O")
    assert done.returncode == 0, done.stderr
    assert_right(tmp_path / "ftio.jsonl")
    assert "direct" in {q.key for q in score_log(tmp_path / "ftio.jsonl").qualifications}


@pytest.mark.parametrize("kind", ["short", "interrupted"])
def test_short_and_interrupted_calls_are_continued(openmpi, faults, tmp_path, kind):
    done = run(openmpi, tmp_path, 3, "--input", 6, "--keep", env={"LD_PRELOAD": faults, "FAULT_KIND": kind})
    assert done.returncode == 0, done.stderr
    assert_right(tmp_path / "ftio.jsonl")


# --- what is logged ---------------------------------------------------------------------------------------------------


def test_log_accounts_for_bytes_and_time_of_every_repetition(mpi, tmp_path):
    done = run(mpi, tmp_path, 2, "--input", 24, "--repeat", 5)
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "ftio.jsonl")
    repetitions, measurements = log.records["repetition"], log.records["measurement"]
    assert [record["repetition"] for record in repetitions] == [1, 2, 3, 4, 5]
    accounted = []
    for record in repetitions:
        mine = [m for m in measurements if m["repetition"] == record["repetition"]]
        moved = {(m["stage"], m["activity"]): m["bytes"] for m in mine if m["activity"] in ("read", "write")}
        assert moved == expected_bytes(1152, 2)
        whole = sum(record["elapsed_seconds"]) / 2
        accounted.append(sum(m["mean_seconds"] for m in mine) / whole)
        assert record["verification"]["largest_relative_difference"] < tolerated_difference(1152)
    assert (
        max(accounted) >= 0.98
    )  # a process that loses its core between two stages, as in one of ten at most, is not accounted for
    # the whole run is little more than its repetitions: nothing of weight goes on outside the timed stages
    assert sum(max(record["elapsed_seconds"]) for record in repetitions) < log.end["elapsed_seconds"]
    assert not list(tmp_path.glob("ftio-*"))


def test_counters_are_those_of_perf_events(openmpi, faults, tmp_path):
    """With the system's task clock in place of cycles, the sum over the processes is the processor time that they took,
    in ns. The same clock counts no additions: what miscounts the known loop is left out, with its reason."""
    done = run(openmpi, tmp_path, 2, "--input", 16, "--repeat", 2, env={"LD_PRELOAD": faults, "PERF_TASK_CLOCK": "1"})
    assert done.returncode == 0, done.stderr
    found = of_kind(tmp_path / "ftio.jsonl", "repetition")
    if any("perf_event_open" in (r["counters"]["cycles_reason"] or "") for r in found):
        pytest.skip(f"no perf events here: {found[0]['counters']['cycles_reason']}")
    for r in found:
        assert 0 < r["counters"]["cycles"] <= 1.01e9 * sum(r["elapsed_seconds"])
        seconds_at_work = sum(
            m["mean_seconds"] * 2
            for m in of_kind(tmp_path / "ftio.jsonl", "measurement")
            if m["repetition"] == r["repetition"] and m["activity"] == "compute"
        )
        assert r["counters"]["cycles"] > 0.1e9 * seconds_at_work
        assert r["counters"]["flops"] is None and "for a loop with" in r["counters"]["flops_reason"]


def test_processors_counters_count_cycles_and_operations(openmpi, tmp_path):
    """Where the system permits them: cycles of a processor of 0.3 to 10 GHz at most, operations about those of the
    formula."""
    done = run(openmpi, tmp_path, 1, "--input", 32)
    assert done.returncode == 0, done.stderr
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
    run(mpi, tmp_path, 2, "--input", 8)
    seen = {(m["stage"], m["activity"]): m["calls"] for m in of_kind(tmp_path / "ftio.jsonl", "measurement")}
    width, square, i = 128, 64, 8
    assert seen["initialise", "write"] == seen["series_1", "read"] == seen["verify", "read"] == 2 * width
    assert seen["series_1", "fft"] == seen["series_2", "fft"] == 2 * width
    minis = 2 * 2 * i * i  # two processes, two Squares each
    assert seen["transpose", "read"] == seen["transpose", "write"] == minis * i
    assert seen["exchange", "read"] == seen["exchange", "exchange"] == 2  # a Square of 64 KiB each, in one piece
    assert square * square * 16 == 64 * 1024


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranks, i, valid", [(2, 3, 4), (3, 4, 6), (4, 5, 6), (6, 7, 12), (8, 2, 4), (9, 4, 6), (16, 2, 4), (1, 1, 2)]
)
def test_invalid_input_is_refused_before_any_file_is_made_and_the_next_valid_one_named(mpi, tmp_path, ranks, i, valid):
    done = run(mpi, tmp_path, ranks, "--input", i)
    assert done.returncode == 2
    assert error(done).endswith(f"the next valid one is {valid}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options, said",
    [
        (["--input", "big"], "not an input parameter"),
        (["--input", "0"], "not an input parameter"),
        (["--input", "-4"], "not an input parameter"),
        (["--input", "1000000"], "is too large for 2 processes"),
        (["--input", "20TiB"], "free"),
        (["--directory", "nowhere"], "No such file"),
        (["--directory", "/dev/null"], "Not a directory"),
        (["--storage", "tape"], "valid are posix, mpiio"),
        (["--input", "8", "--direct"], "the next valid one is 32"),
        (["--input", "32", "--direct", "--storage", "mpiio"], "requires --storage posix"),
        (["--repeat", "0"], "from 1 to"),
    ],
)
def test_impossible_request_is_refused_before_any_file_is_made(mpi, tmp_path, options, said):
    done = run(mpi, tmp_path, 2, *options)
    assert done.returncode == 2
    assert said in error(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_auto_is_equation_5(mpi, tmp_path, ranks):
    run(mpi, tmp_path, ranks, "--input", "auto")
    assert records(tmp_path / "ftio.jsonl")[1]["input_parameter"] == automatic_input(ranks)


@pytest.mark.parametrize("size, i", [("1B", 2), ("16KiB", 4), ("16385B", 6), ("1MiB", 12)])
def test_size_gives_the_lowest_input_whose_matrix_is_as_large(mpi, tmp_path, size, i):
    run(mpi, tmp_path, 2, "--input", size)
    assert records(tmp_path / "ftio.jsonl")[1]["input_parameter"] == i == input_for_bytes(bytes_of(size), 2)


def bytes_of(size):
    number, unit = re.fullmatch(r"(\d+)(\w+)", size).groups()
    return int(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20}[unit]


# --- faults -----------------------------------------------------------------------------------------------------------

# with i = 4 on 4 processes: calls of a process before each stage begins, and one of each stage
READS = {
    "series_1": 10,
    "transpose": 64 + 30,
    "exchange": 64 + 256 + 1,
    "series_2": 64 + 256 + 3 + 10,
    "verify": 64 + 256 + 3 + 64 + 10,
}
WRITES = {
    "initialise": 10,
    "series_1": 64 + 10,
    "transpose": 128 + 30,
    "exchange": 128 + 256 + 1,
    "series_2": 128 + 256 + 3 + 10,
}


@pytest.mark.parametrize(
    "kind, number",
    [
        *(pytest.param("flip_read", number, id=f"read-{stage}") for stage, number in READS.items()),
        *(
            pytest.param(kind, number, id=f"{kind}-{stage}")
            for kind in ("flip_write", "lost_write", "misplaced_write")
            for stage, number in WRITES.items()
        ),
        pytest.param("no_exchange", 0, id="skipped-exchange"),
        pytest.param("swapped_halves", 0, id="swapped-square"),
        pytest.param("wrong_sign", 0, id="wrong-sign"),
    ],
)
def test_fault_in_any_one_phase_is_found_by_verification(openmpi, faults, tmp_path, kind, number):
    env = {"LD_PRELOAD": faults, "FAULT_KIND": kind, "FAULT_NUMBER": number, "FAULT_RANK": 2}
    done = run(openmpi, tmp_path, 4, "--input", 4, env=env)
    assert done.returncode == 1
    assert "verification failed: the largest relative difference" in error(done)
    [end] = of_kind(tmp_path / "ftio.jsonl", "end")
    assert end["status"] == "failed"
    assert "largest relative difference" in end["reason"]
    [found] = of_kind(tmp_path / "ftio.jsonl", "repetition")
    assert found["verification"]["largest_relative_difference"] > tolerated_difference(64)
    assert not list(tmp_path.glob("ftio-*"))


def test_without_a_fault_the_library_changes_nothing(openmpi, faults, tmp_path):
    done = run(openmpi, tmp_path, 4, "--input", 4, "--keep", env={"LD_PRELOAD": faults})
    assert done.returncode == 0
    assert_right(tmp_path / "ftio.jsonl")


@pytest.mark.parametrize(
    "kind, said", [("full_write", "No space left on device; free some space"), ("broken_read", "Input/output error")]
)
@pytest.mark.parametrize("number", [10, 200, 128 + 200])
def test_failing_call_ends_the_run_with_one_line_and_nothing_left(openmpi, faults, tmp_path, kind, said, number):
    env = {"LD_PRELOAD": faults, "FAULT_KIND": kind, "FAULT_NUMBER": number, "FAULT_RANK": 1}
    done = run(openmpi, tmp_path, 4, "--input", 4, env=env)
    assert done.returncode != 0
    assert said in error(done)
    assert [path.name for path in tmp_path.iterdir()] == ["ftio.jsonl"]


# --- how it ends when it cannot go on ---------------------------------------------------------------------------------


@pytest.fixture
def started(mpi, tmp_path):
    """A run that goes on until something ends it, in its own directory below the test's; the log lies beside."""
    processes = []

    def start(*options, directory=tmp_path / "disk"):
        directory.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [
                mpi.mpirun,
                "-np",
                "2",
                str(mpi.bin / "ftio"),
                "--directory",
                str(directory),
                "--log",
                str(tmp_path / "ftio.jsonl"),
                *map(str, options),
            ],
            env=os.environ | OPEN_MPI,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        deadline = time.monotonic() + PATIENCE
        while not list(directory.glob("ftio-*/strip-000001")):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.02)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_run_closes_its_log_and_leaves_nothing(started, tmp_path, number):
    process = started("--input", 24, "--repeat", 10000)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert not list((tmp_path / "disk").iterdir())
    [end] = of_kind(tmp_path / "ftio.jsonl", "end")
    assert (end["status"], end["reason"]) == ("interrupted", "SIGTERM")  # a launcher hands on SIGTERM in either case


def test_killed_process_takes_the_run_and_its_files_along(started, tmp_path):
    process = started("--input", 24, "--repeat", 10000)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    os.kill(children[-1], signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert not list((tmp_path / "disk").iterdir())


def test_removed_directory_ends_the_run_with_a_clear_line(started, tmp_path):
    process = started("--input", 24, "--repeat", 10000)
    vanish(tmp_path / "disk")
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    # by one of the ranks, or by both where it strikes them apart
    assert stderr.count("error:") == stderr.count("removed during the run?") in (1, 2)
    [end] = of_kind(tmp_path / "ftio.jsonl", "end")
    assert end["status"] in NOT_COMPLETE


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MiB."""
    with memory(tmp_path / "small", "size=8m") as folder:
        yield folder


def test_too_small_disk_is_refused_before_any_file_is_made(mpi, small_disk, tmp_path):
    done = run(mpi, tmp_path, 2, "--input", "16MiB", "--directory", small_disk)
    assert done.returncode == 2
    assert "8388608 bytes free" in error(done)
    assert not list(small_disk.iterdir())
    assert not (tmp_path / "ftio.jsonl").exists()


def test_disk_that_fills_up_ends_the_run_with_a_clear_line(started, small_disk, tmp_path):
    process = started("--input", "5MiB", "--repeat", 10000, directory=small_disk)
    with (small_disk / "of others").open("wb", buffering=0) as others:
        while process.poll() is None:
            try:
                others.write(bytes(MIB // 4))
            except OSError:
                time.sleep(0.01)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert (
        stderr.count("error:")
        == stderr.count("No space left on device; free some space or choose a smaller --input")
        in (1, 2)
    )
    [end] = of_kind(tmp_path / "ftio.jsonl", "end")
    assert end["status"] in NOT_COMPLETE
    assert [path.name for path in small_disk.iterdir()] == ["of others"]


def test_matrix_several_times_larger_than_a_memory_limit_runs_inside_it(mpi, tmp_path):
    limit = 32 * MIB  # of data that is not a file's, each process
    done = subprocess.run(
        [
            mpi.mpirun,
            "-np",
            "2",
            "prlimit",
            f"--data={limit}",
            str(mpi.bin / "ftio"),
            "--input",
            "256MiB",
            "--directory",
            str(tmp_path),
            "--log",
            str(tmp_path / "ftio.jsonl"),
        ],
        env=os.environ | OPEN_MPI,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "ftio.jsonl")
    assert log.plan["matrix_bytes"] >= 4 * 2 * limit
    assert log.records["repetition"][0]["peak_resident_bytes"] < log.plan["matrix_bytes"] / 8


def test_kernel_writes_no_more_than_its_own_directory(mpi, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "precious").write_text("data")
    done = run(mpi, tmp_path, 2, "--input", 4, "--directory", tmp_path / "disk")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["precious"]
    assert (tmp_path / "disk" / "precious").read_text() == "data"
