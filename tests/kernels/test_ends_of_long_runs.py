# SPDX-License-Identifier: Apache-2.0
"""However a run ends that uses files, its log is closed, it yields no score, and it leaves no files: if it is
interrupted, if one of its processes or all of them are killed, if its directory is removed or its disk fills up. Nodes
of the runs under load are made up."""

import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builds import PATIENCE
from conftest import NOT_COMPLETE
from file_systems import memory, vanish
from kernel_runs import fill, of_kind, on_nodes, rank_processes, records, started, wait_until

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError

WORKLOAD = """repetitions = 100000;
single_file = { process_size = "2MiB"; block_size = "64KiB"; patterns = "write"; };
common_file = { process_size = "1MiB"; block_size = "64KiB"; patterns = "read-write"; methods = ["explicit", "posix"]; };
"""  # noqa: E501
BY_LIBRARY = """repetitions = 100000; hints = "alignment=4KiB";
common_file = { process_size = "256KiB"; block_size = "64KiB"; patterns = "write"; methods = "%s"; };"""


@dataclass(frozen=True)
class Long:
    """A run that goes on until something ends it, and what it says then."""

    options: tuple
    ready: Callable[[Path], bool]  # of the log
    room: str  # of a disk that others fill
    full: str
    removed: str
    nodes: tuple = ()
    full_status: tuple = ("failed",)
    removed_status: tuple = ("failed",)
    short: str = ""  # so that it opens its next file soon
    in_directory: bool = False  # whose files are opened by their path in the directory under test, which is removed
    workload: str = WORKLOAD


ROMIO_ENDED_IT = "Could not access shared file pointer"
RUNS = {
    "b_eff_io": Long(
        ("--memory-per-process 64MiB --scheduled-time 60 --partitions 2 --space-limit 550MiB --hang-after 30",),
        lambda log: len(records(log)) >= 6,
        "600m",
        "(?i)no space|disk full|cannot|no progress|" + ROMIO_ENDED_IT,
        "cannot open its file",
        short="--scheduled-time 6",
    ),
    "b_eff_io_load": Long(
        ("--load-file 2MiB --scheduled-time 60 --space-limit 32MiB --hang-after 30",),
        lambda log: len(of_kind(log, "loaded_trial")) >= 3 and of_kind(log, "loaded"),
        "64m",
        r"No space left on device|is the disk full\?",
        "",
        nodes=(("a", 2), ("b", 1)),
    ),
    "b_eff_load": Long(
        ("--kinds incast,alltoall,io --memory-per-process 1MiB --time-budget 86400",),
        lambda log: len([record for record in of_kind(log, "load") if record["load"] == "io"]) >= 2,
        "32m",
        "cannot write a file of the load io.*free some space or run fewer",
        r"was the directory removed during the run\?",
        nodes=tuple((name, 1) for name in "abcd"),
        short="--longest-loop 4",
    ),
    "ftio": Long(
        ("--input 5MiB --repeat 10000",),
        lambda log: list((log.parent / "disk").glob("ftio-*/strip-000001")),
        "8m",
        "No space left on device; free some space or choose a smaller --input",
        r"removed during the run\?",
        full_status=NOT_COMPLETE,
        removed_status=NOT_COMPLETE,
        in_directory=True,
    ),
    "priomark": Long(
        ("--workload", "workload.cfg"),
        lambda log: len(records(log)) >= 8,
        "8m",
        "No space left on device; free some space",
        "",
        full_status=NOT_COMPLETE,
        removed_status=NOT_COMPLETE,
        in_directory=True,
    ),
}
# A process that cannot open its file waits within MPI_File_open of Open MPI 4 for the others, which wait for it at
# another place there: if the directory vanishes meanwhile, the run hangs and is ended.
RUNS |= {
    name: replace(run, removed=f"{run.removed}|the run hangs and was ended", removed_status=("failed", "hung"))
    for name, run in RUNS.items()
    if name.startswith("b_eff_io")
}
# Through libraries of files. PnetCDF with ompio reports no error: then the kernel finds that data is missing, b_eff_io
# when it reads at the latest.
LIBRARIES = ("hdf5", "pnetcdf", "netcdf")
RUNS |= {
    f"b_eff_io {name}": Long(
        (
            "--memory-per-process 64MiB --scheduled-time 600 --partitions all --space-limit 100MiB --agree-per-access",
            f"--interface {name} --types scatter,segmented,segmented-collective --hints alignment=4KiB --hang-after 30",
        ),
        lambda log: of_kind(log, "measurement"),
        "120m",
        rf"through {name}|is the disk full|were read wrong",
        "",
    )
    for name in LIBRARIES
}
RUNS |= {
    f"priomark {name}": Long(
        ("--workload", "workload.cfg", "--hang-after 30"),
        lambda log: of_kind(log, "measurement"),
        "8m",
        rf"through {name}: |is the disk full",
        "",
        workload=BY_LIBRARY % name,
    )
    for name in (library + suffix for library in LIBRARIES for suffix in ("", "-collective"))
}
# In HDF5 1.10, which is netCDF's too, the process whose metadata could not be written enters another collective
# operation than the others now and then: such a run hangs and is ended.
RUNS |= {
    name: replace(run, full=f"{run.full}|the run hangs and was ended", full_status=("failed", "hung"))
    for name, run in RUNS.items()
    if re.search(r" (hdf5|netcdf)", name)
}
BY_LIBRARIES = [(run, "openmpi") for run in RUNS if " " in run]
WITH = {
    "b_eff_io": ["openmpi", "openmpi_romio", "mpich"],
    "b_eff_io_load": ["openmpi"],
    "b_eff_load": ["openmpi", "mpich"],
    "ftio": ["openmpi", "mpich"],
    "priomark": ["openmpi"],
}
EACH = [(kernel, name) for kernel, names in WITH.items() for name in names]
# With the first MPI; with the others in `make prove`.
USUAL = [pytest.param(*each, marks=() if each[1] == WITH[each[0]][0] else pytest.mark.prove) for each in EACH]


@pytest.fixture
def going_on(mpi, tmp_path):
    """A function of the name of a run, whose first word is its kernel: it goes on and is ready to be struck."""

    def going_on(name, *options):
        kernel, run, log = name.split()[0], RUNS[name], tmp_path / "log.jsonl"
        if not (mpi.bin / kernel).exists():
            pytest.skip(f"{kernel} was not built with {mpi.name}")
        (tmp_path / "disk").mkdir(exist_ok=True)
        (tmp_path / "workload.cfg").write_text(run.workload)
        words = (*run.options, f"--directory {tmp_path}/disk --log {log}", *options)
        command = on_nodes(mpi, run.nodes, kernel, *words) if run.nodes else mpi.command(2, kernel, *words)
        return started(command, lambda: run.ready(log), env=mpi.environment, cwd=tmp_path)

    return going_on


def assert_closed(kernel, folder, statuses=NOT_COMPLETE):
    """By rank 0, or by the keeper where it was killed, a moment later; neither leaves a file or a process."""
    log, disk = folder / "log.jsonl", folder / "disk"
    wait_until(lambda: records(log)[-1]["record"] == "end" and not rank_processes(kernel.split()[0], log))
    wait_until(lambda: not disk.exists() or {path.name for path in disk.iterdir()} <= {"of others"})
    *_, end = records(log)
    assert end["status"] in statuses and end["records"] == len(records(log))
    with pytest.raises(LogError):
        score_log(log)


@pytest.mark.parametrize(("kernel", "mpi"), USUAL, indirect=["mpi"])
def test_interrupted_run_closes_its_log_and_leaves_nothing(mpi, going_on, tmp_path, kernel):
    with going_on(kernel) as process:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0 or mpi.name == "mpich"  # whose launcher may end with 0 when it is told to end
        assert_closed(kernel, tmp_path)


def is_ending(number):
    """Whether the process is in its handler, during which its signals are blocked and no longer pending."""
    text = Path(f"/proc/{number}/status").read_text()
    blocked, *pending = (
        int(re.search(rf"^{name}:\s*(\w+)$", text, re.MULTILINE)[1], 16) for name in ("SigBlk", "SigPnd", "ShdPnd")
    )
    bit = 1 << (signal.SIGTERM - 1)
    return bool(blocked & bit) and not any(each & bit for each in pending)


def test_interrupted_run_that_is_killed_while_it_ends_was_interrupted(openmpi, tmp_path):
    """Open MPI 5 sends SIGKILL a quarter of a second after SIGTERM; rank 0 waits so long for a note of another one."""
    log = tmp_path / "log.jsonl"
    words = [openmpi.bin / "ftio", "--input", "2MiB", "--repeat", "100000", "--directory", tmp_path, "--log", log]
    with started(words, lambda: of_kind(log, "repetition"), env=openmpi.environment, cwd=tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: process.poll() is not None or is_ending(process.pid))
        process.kill()
        process.wait()
        wait_until(lambda: records(log)[-1]["record"] == "end")
    assert {name: records(log)[-1].get(name) for name in ("status", "reason", "rank")} == {
        "status": "interrupted",
        "reason": "SIGTERM",
        "rank": None,
    }
    wait_until(lambda: {path.name for path in tmp_path.iterdir()} == {"log.jsonl"})


RANKS = {"b_eff_io": [0, 1], "b_eff_io_load": [0, 1, 2], "b_eff_load": [0, 1, 3], "ftio": [1], "priomark": [1]}
KILLED = [(kernel, name, rank) for kernel, name in [*EACH, ("b_eff_io_load", "mpich")] for rank in RANKS[kernel]]
KILLED += [(*run, 1) for run in BY_LIBRARIES if "-" not in run[0]]


@pytest.mark.in_turn
@pytest.mark.parametrize(("kernel", "mpi", "rank"), KILLED, indirect=["mpi"])
def test_killed_process_takes_the_run_and_its_files_along(mpi, going_on, tmp_path, kernel, rank):
    """Of the runs under load, rank 0 and another one are measured, the third one generates the load."""
    with going_on(kernel) as process:
        assert list((tmp_path / "disk").iterdir())
        os.kill(rank_processes(kernel.split()[0], tmp_path / "log.jsonl")[rank], signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert_closed(kernel, tmp_path)


@pytest.mark.parametrize(("kernel", "mpi"), [each for each in EACH if each[0].endswith("load")], indirect=["mpi"])
def test_killed_run_under_load_leaves_nothing(mpi, going_on, tmp_path, kernel):
    """test_ends_of_runs.py has the other kernels."""
    with going_on(kernel) as process:
        for number in rank_processes(kernel, tmp_path / "log.jsonl").values():
            with suppress(ProcessLookupError):  # the launcher may have been faster
                os.kill(number, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        wait_until(lambda: not list((tmp_path / "disk").iterdir()))
    with pytest.raises(LogError):
        score_log(tmp_path / "log.jsonl")


def assert_said(process, errors, said):
    """In the line of an error, by one of the ranks or by several where it strikes them apart."""
    assert process.returncode != 0
    lines = [line for line in errors.splitlines() if "error:" in line]
    assert lines and all(re.search(said, line) for line in lines), errors


@pytest.mark.parametrize(("kernel", "mpi"), USUAL, indirect=["mpi"])
def test_directory_that_is_removed_ends_the_run_with_a_clear_error(mpi, going_on, tmp_path, kernel):
    run, disk = RUNS[kernel], tmp_path / "disk"
    with going_on(kernel, *run.short.split()) as process:
        vanish(disk if run.in_directory else next(disk.iterdir()))
        _, errors = process.communicate(timeout=PATIENCE)
        assert_said(process, errors, run.removed)
        assert_closed(kernel, tmp_path, run.removed_status)


@pytest.mark.parametrize(("kernel", "mpi"), [*EACH, *BY_LIBRARIES], indirect=["mpi"])
def test_disk_that_fills_up_ends_the_run_with_a_clear_error(mpi, going_on, tmp_path, kernel):
    run = RUNS[kernel]
    with memory(tmp_path / "disk", f"size={run.room}") as disk:
        with going_on(kernel, *(run.short.split() if kernel == "b_eff_load" else ())) as process:  # the others write on
            _, errors = fill(disk, process)
        if ROMIO_ENDED_IT in errors:  # where it cannot keep its shared pointer; the keeper then closes the log
            assert "killed or crashed" in records(tmp_path / "log.jsonl")[-1]["reason"]
        else:
            assert_said(process, errors, run.full)
        assert_closed(kernel, tmp_path, run.full_status)
        assert [path.name for path in disk.iterdir()] == ["of others"]
