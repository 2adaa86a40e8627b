# SPDX-License-Identifier: Apache-2.0
"""PRIOMark's kernel finds data at the wrong place, and ends with one line if a call fails; what it leaves behind."""

import shutil
from functools import partial

import pytest
from builds import PATIENCE, faulty
from file_systems import memory
from kernel_runs import error, good, started
from priomark_runs import EVERYTHING, KIB, MIB, command, leftovers, of_kind, records, run

from coffeecup.postprocess.benchmarks.scoring import score_log

CHECKED = 'check = true; single_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "1:1"; };'


FAULTS = [("flip_read", 3), ("flip_write", 5), ("lost_write", 5), ("misplaced_write", 5)]  # calls of the first pattern
FAULTS += [("flip_read", 16 + 3), ("flip_write", 16 + 1 + 3), ("lost_write", 16 + 1 + 3)]


@pytest.mark.parametrize("kind, number", FAULTS)
def test_byte_that_is_not_where_it_was_written_is_found(serial, tmp_path, kind, number):
    done = run(serial, tmp_path, CHECKED, env=faulty(serial, "priomark", FAULT_KIND=kind, FAULT_NUMBER=number))
    assert done.returncode == 1
    assert "were read wrong, the first at offset" in error(done)
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


@pytest.mark.parametrize("kind", ["short", "interrupted"])
def test_short_and_interrupted_calls_are_continued(serial, tmp_path, kind):
    good(run(serial, tmp_path, CHECKED, env=faulty(serial, "priomark", FAULT_KIND=kind)))


@pytest.mark.parametrize("reading", [1, 2, 3])
def test_no_part_is_longer_than_the_whole_wherever_a_process_loses_its_core(serial, tmp_path, reading):
    """The first reading of the clock after the sync ends it, the second one ends the whole, the third one belongs to
    neither."""
    sizes = 'process_size = "32KiB"; block_size = "4KiB"'
    workload = f'single_file = {{ {sizes}; patterns = "write"; methods = "posix"; }};'
    good(run(serial, tmp_path, workload, env=faulty(serial, "priomark", FAULT_LATE=reading)))
    [measured] = of_kind(tmp_path, "measurement")
    late = [measured[f"{part}_seconds"] > 0.9 for part in ("sync", "elapsed")]
    assert late == [reading <= 1, reading <= 2]
    assert score_log(tmp_path / "log.jsonl").metrics["total"].value > 0


FULL = "No space left on device; free some space"
FAILING = [("openmpi", "posix", "full_write", FULL), ("mpich", "explicit", "full_write", FULL)]
FAILING += [("openmpi", "posix", "broken_read", "Input/output error")]


@pytest.mark.parametrize("mpi, method, kind, said", FAILING, indirect=["mpi"])
def test_failing_call_ends_the_run_with_one_line_and_nothing_left(mpi, tmp_path, method, kind, said):
    workload = f'common_file = {{ process_size = "64KiB"; block_size = "4KiB"; methods = "{method}"; }};'
    done = run(mpi, tmp_path, workload, 2, env=faulty(mpi, "priomark", FAULT_KIND=kind, FAULT_NUMBER=7))
    assert done.returncode == 1
    assert any(said in line for line in done.stderr.splitlines() if "error:" in line), done.stderr
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


def test_too_small_disk_is_refused_before_anything_is_made(openmpi, tmp_path):
    (tmp_path / "disk").mkdir()
    with memory(tmp_path / "disk", "size=8m"):
        done = run(openmpi, tmp_path, 'single_file = { process_size = "8MiB"; };', 2)
        assert done.returncode == 2 and "8388608 bytes free" in error(done) and "process_size" in error(done)
        assert leftovers(tmp_path) == [] and not (tmp_path / "log.jsonl").exists()


def test_directory_that_vanishes_while_a_file_is_filled_is_the_reason(serial, tmp_path):
    workload = 'single_file = { process_size = "256MiB"; patterns = "read-write"; };'
    begun = partial(tmp_path.glob, "disk/*/single-*")
    with started(command(serial, tmp_path, workload, 1), lambda: any(begun())) as process:
        shutil.rmtree(next(begun()).parent)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "was the directory removed during the run?" in printed
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


def test_kept_files_are_those_of_the_last_cases(openmpi, tmp_path):
    good(run(openmpi, tmp_path, EVERYTHING, 2, "--keep"))
    [kept] = (tmp_path / "disk").iterdir()
    sizes = {path.name: path.stat().st_size for path in kept.iterdir() if not path.name.startswith(".")}
    own = {f"{name}-{rank:06}": 64 * KIB for name in ("single", "raw") for rank in (0, 1)}
    assert sizes == {"common": 256 * KIB, "strided": 192 * KIB, "async": 2 * MIB, **own}
