# SPDX-License-Identifier: Apache-2.0
"""Runs of coffeecup in the same directory notice each other, and their results say so."""

import os
import signal
import subprocess

import kernel_runs
import pytest
from builds import OPEN_MPI, PATIENCE
from kernel_runs import good, rank_processes, wait_until

from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.records import Overlap

SHORT = {"ftio": "--input 1MiB --repeat 1", "b_eff_io": "--scheduled-time 2 --memory-per-process 32MiB"}


def command(mpi, kernel, directory, log, *options):
    return mpi.command(2, kernel, f"--directory {directory} --log {log}", SHORT[kernel], *options)


def finished(run):
    good(kernel_runs.run(run, env=os.environ | OPEN_MPI))


@pytest.fixture
def long_run(openmpi, tmp_path):
    """A run of b_eff_io that began to use the directory and is stopped there, so that no other can outlast it; its name
    there, and how to let it go on and wait for its log."""
    directory, log = tmp_path / "tested", tmp_path / "long.jsonl"
    directory.mkdir()

    def signal_all(number):
        """To the run's processes, not to their launcher."""
        for process in rank_processes("b_eff_io", log).values():
            os.kill(process, number)

    process = subprocess.Popen(
        command(openmpi, "b_eff_io", directory, log), env=os.environ | OPEN_MPI, stdout=subprocess.DEVNULL
    )

    def ended():
        signal_all(signal.SIGCONT)
        assert process.wait(timeout=PATIENCE) == 0
        return log

    try:
        wait_until(lambda: list(directory.glob("b_eff_io-*/.coffeecup-*")), "the run has its directory")
        [place] = directory.iterdir()
        signal_all(signal.SIGSTOP)
        yield directory, place.name, ended
    finally:
        signal_all(signal.SIGCONT)
        process.kill()
        process.wait()


def overlaps(log):
    return [(record.directories, record.noticed_by_others) for record in read_log(log).all(Overlap)]


def test_short_run_inside_a_long_one_is_noticed_by_both(openmpi, tmp_path, long_run):
    directory, name, ended = long_run
    log = tmp_path / "short.jsonl"
    finished(command(openmpi, "ftio", directory, log))
    assert overlaps(log) == [([name], False)]
    [(_, noticed)] = overlaps(ended())
    assert noticed
    for path in (log, tmp_path / "long.jsonl"):
        found = {q.key: q.text for q in score_log(path).qualifications}
        assert "used the directory under test during this one" in found["overlapped"]
    assert name in {q.key: q.text for q in score_log(log).qualifications}["overlapped"]
    assert not list(directory.iterdir())


def test_runs_in_different_directories_do_not_overlap(openmpi, tmp_path, long_run):
    other, log = tmp_path / "other", tmp_path / "short.jsonl"
    other.mkdir()
    finished(command(openmpi, "ftio", other, log))
    assert overlaps(log) == [] and overlaps(long_run[2]()) == []
    assert "overlapped" not in {qualification.key for qualification in score_log(log).qualifications}


def test_what_is_no_running_run_is_not_noticed(openmpi, tmp_path):
    """The kept directory of an earlier run, a directory and a file with such names, the runs before and after."""
    tested = tmp_path / "tested"
    (tested / "data-ABCDEF").mkdir(parents=True)
    (tested / "data-GHIJKL").write_text("")
    logs = [tmp_path / f"{number}.jsonl" for number in range(3)]
    for log, options in zip(logs, ([], ["--keep"], [])):
        finished(command(openmpi, "ftio", tested, log, *options))
    assert [overlaps(log) for log in logs] == [[], [], []]
    assert len(list(tested.iterdir())) == 3
