# SPDX-License-Identifier: Apache-2.0
"""A run whose file system or process stops ends by itself, and names the process, its file and the server; what the
kernels of Linux does not end yet keeps nobody waiting."""

import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest
from builds import PATIENCE
from file_systems import ADDRESS, disk, frozen, glusterfs, needs
from kernel_runs import of_kind, rank_processes, read_processes, records, started, wait_until
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

SECONDS = 3  # of --hang-after
SERVED = 10  # the same where other programs of this node serve the files
IGNORED = 12  # seconds: longer than a keeper waits before it sends SIGTERM, and then SIGKILL
WORKLOAD = 'repetitions = 100000; single_file = { process_size = "2MiB"; block_size = "4KiB"; read_write = "1:1"; };'
MOVING = {  # options, and whether the log shows that files are accessed
    "b_eff_io": ("--memory-per-process 64MiB --scheduled-time 600 --partitions 2 --space-limit 200MiB", "measurement"),
    "ftio": ("--input 2MiB --repeat 100000", "repetition"),
    "priomark": ("--workload {folder}/workload.cfg", "measurement"),
}


@contextmanager
def running(mpi, folder, kernel, directory, seconds=SECONDS):
    (folder / "workload.cfg").write_text(WORKLOAD)
    options, record = MOVING[kernel]
    log = folder / "log.jsonl"
    words = f"{options.format(folder=folder)} --directory {directory} --log {log} --hang-after {seconds}"
    command = mpi.command(2, kernel, *words.split())
    with started(command, lambda: log.exists() and of_kind(log, record), env=mpi.environment, cwd=folder) as process:
        yield process, log, rank_processes(kernel, log)


def assert_hung(log, words):
    wait_until(lambda: records(log)[-1]["record"] == "end")
    assert records(log)[-1]["status"] == "hung"
    with pytest.raises(LogError, match=words) as error:
        read_log(log)
    return str(error.value)


@pytest.mark.parametrize("kernel", MOVING)
def test_a_stopped_process_of_a_kernel_that_accesses_files_is_named(openmpi, tmp_path, kernel):
    with running(openmpi, tmp_path, kernel, tmp_path) as (process, log, numbers):
        os.kill(numbers[1], signal.SIGSTOP)
        assert process.wait(PATIENCE) != 0
    said = assert_hung(log, f"no progress for {SECONDS} s; rank 1 on .* is stopped")
    assert "rank 0" not in said
    wait_until(lambda: not {other.pid for other in read_processes()} & set(numbers.values()))
    wait_until(lambda: {path.name for path in tmp_path.iterdir()} == {"log.jsonl", "workload.cfg"})


@contextmanager
def without_servers(directory):
    """All servers of this GlusterFS are stopped."""
    words = str(directory.parent)
    numbers = [each.pid for each in read_processes() if "glusterfsd" in each.words[0] and words in " ".join(each.words)]
    assert numbers
    for number in numbers:
        os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        for number in numbers:
            os.kill(number, signal.SIGCONT)


@pytest.mark.parametrize("kernel", MOVING)
@pytest.mark.parametrize(
    ("make", "stop", "kind", "seconds"),
    [
        pytest.param(disk, frozen, "ext4 /dev/loop", SECONDS, id="disk"),
        pytest.param(
            *(glusterfs, without_servers, f"fuse.glusterfs {ADDRESS}:", SERVED), id="GlusterFS", marks=pytest.mark.prove
        ),
    ],
)
def test_a_file_system_that_stops_is_named_with_a_process_and_its_file(
    openmpi, tmp_path, kernel, make, stop, kind, seconds
):
    """Its processes cannot end before it goes on; then nothing of them is left."""
    needs("a file system that stops", "fsfreeze")
    with (
        make(tmp_path, 1) as directory,
        running(openmpi, tmp_path, kernel, directory, seconds) as (process, log, numbers),
    ):
        with stop(directory):
            assert process.wait(PATIENCE) != 0
            said = assert_hung(log, rf"rank [01] on \S+ waits for {directory}/{kernel}-\S+ on {kind}")
            assert "cannot tell" not in said
        wait_until(lambda: not {other.pid for other in read_processes()} & set(numbers.values()))
        wait_until(lambda: not list(directory.glob(f"{kernel}-*")))


@pytest.mark.parametrize("kernel, options", [("b_eff", "--memory-per-process 1MiB"), ("ftio", MOVING["ftio"][0])])
def test_a_log_on_a_file_system_that_stops_keeps_nobody_waiting(openmpi, tmp_path, kernel, options):
    """Rank 0 waits between two loops. The log is closed when the file system goes on."""
    needs("a file system that stops", "fsfreeze")
    (tmp_path / "files").mkdir()
    with disk(tmp_path, 1) as directory:
        log = directory / "log.jsonl"
        words = [*options.split(), "--log", log, "--hang-after", SECONDS]
        words += ["--directory", tmp_path / "files"] if kernel == "ftio" else []
        command = openmpi.command(2, kernel, *map(str, words))
        with started(command, lambda: len(records(log)) > 9, env=openmpi.environment, cwd=tmp_path) as process:
            with frozen(directory):
                _, errors = process.communicate(timeout=PATIENCE)
                assert process.returncode != 0 and "the run hangs and was ended" in errors
                assert all(record["record"] != "end" for record in records(log))
            said = assert_hung(log, f"no progress for {SECONDS} s; rank 0 on .* waits in the kernel")
            assert "rank 1" not in said
    wait_until(lambda: not list((tmp_path / "files").iterdir()))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_run_that_cannot_create_its_log_ends_and_shows_where(mpi, tmp_path):
    needs("a file system that stops", "fsfreeze")
    with disk(tmp_path, 1) as directory:
        options = f"--memory-per-process 1MiB --log {directory}/log.jsonl --hang-after {SECONDS}"
        with frozen(directory):
            done = mpi.run(2, "b_eff", *options.split(), cwd=tmp_path)
        assert done.returncode != 0 and "the run hangs and was ended before it had a log" in done.stderr
        [said] = re.findall(r"processes of this node: (\[.*\])", done.stderr)
        stopped, waits = json.loads(said)
        assert (stopped["rank"], stopped["state"], stopped["place"]) == (0, "in the kernel", "start")
        assert stopped["kernel_function"] and waits["rank"] == 1 and waits["state"] != "in the kernel"
        wait_until(lambda: not [each for each in read_processes() if each.folder == tmp_path])


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_directory_that_a_process_was_creating_when_it_was_ended_is_removed(mpi, tmp_path):
    """It appears when the file system goes on. Until then, the process keeps what the launcher's daemon left open."""
    needs("a file system that stops", "fsfreeze")
    log, kernel = tmp_path / "log.jsonl", "b_eff_io"
    with disk(tmp_path, 1) as directory:
        options = f"{MOVING[kernel][0]} --directory {directory} --log {log} --hang-after {SECONDS}"
        with frozen(directory):
            done = mpi.run(2, kernel, *options.split(), cwd=tmp_path)
            assert done.returncode != 0 and "the run hangs and was ended" in done.stderr
            assert_hung(log, f"no progress for {SECONDS} s; rank 0 on .* waits in the kernel .*start")
        wait_until(lambda: not [each for each in read_processes() if each.folder == tmp_path])
        assert not list(directory.glob(f"{kernel}-*"))


def test_a_script_that_started_a_run_without_a_launcher_outlives_it(openmpi, tmp_path):
    """It is the parent of the process that cannot end. A launcher in its place is ended."""
    needs("a file system that stops", "fsfreeze")
    log, after = tmp_path / "log.jsonl", tmp_path / "after"
    with disk(tmp_path, 1) as directory:
        options = f"--input 2MiB --repeat 100000 --directory {directory} --log {log} --hang-after {SECONDS}"
        script = ["sh", "-c", f"{openmpi.bin / 'ftio'} {options}; echo >{after}"]
        with started(script, lambda: of_kind(log, "repetition"), env=openmpi.environment, cwd=tmp_path) as process:
            with frozen(directory):
                wait_until(lambda: records(log)[-1]["record"] == "end")
                time.sleep(IGNORED)
                assert process.poll() is None
            assert process.wait(PATIENCE) == 0
        wait_until(lambda: not list(directory.glob("ftio-*")))
    assert records(log)[-1]["status"] == "hung" and after.exists()


@pytest.mark.parametrize("number, status", [(signal.SIGKILL, "failed"), (signal.SIGSTOP, "hung")])
def test_errors_that_nobody_reads_keep_no_log_open_and_no_files(openmpi, tmp_path, number, status):
    """Standard error is a full pipe, for example of a pager."""
    log, files = tmp_path / "log.jsonl", tmp_path / "files"
    files.mkdir()
    options = f"--input 2MiB --repeat 100000 --directory {files} --log {log} --hang-after {SECONDS}"
    reading, writing = os.pipe()
    words = [openmpi.bin / "ftio", *options.split()]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=writing, env=openmpi.environment, cwd=tmp_path)
    try:
        wait_until(lambda: of_kind(log, "repetition"))
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"x")
        os.set_blocking(writing, True)
        process.send_signal(number)
        wait_until(lambda: not [each for each in read_processes() if each.folder == tmp_path])
        assert records(log)[-1]["status"] == status and not list(files.iterdir())
    finally:
        process.kill()
        process.wait()
        os.close(reading)
        os.close(writing)
