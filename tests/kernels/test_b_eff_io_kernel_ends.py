# SPDX-License-Identifier: Apache-2.0
"""How a run of b_eff_io's kernel ends that meets a fault or is killed."""

import pytest
from b_eff_io_runs import BRIEF, EACH, assert_failed, end, leftovers, run
from builds import faulty
from file_systems import memory
from kernel_runs import wait_until

from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPES

MIB = 2**20


def test_directory_without_permission_is_a_clear_error(openmpi, tmp_path):
    with memory(tmp_path / "closed", "size=600m,ro") as closed:
        done = run(openmpi, tmp_path, 2, *BRIEF, f"--space-limit 500MiB --directory {closed}")
    assert done.returncode == 1 and "cannot create a directory" in done.stderr and "--directory" in done.stderr
    assert end(tmp_path)["status"] == "failed"


@EACH
@pytest.mark.in_turn
@pytest.mark.parametrize("type_number", range(5))
def test_full_disk_on_one_rank_only_ends_the_run(mpi, tmp_path, type_number):
    """The others go on with their calls, collective or not, and learn of it at the end of the pattern or at the next
    agreement."""
    env = faulty(mpi, "b_eff_io", FAULT_FULL_RANK=1, FAULT_FULL_FILE=f"n2-type{type_number}")
    done = run(mpi, tmp_path, 3, *BRIEF, "--partitions 2,3", env=env)
    assert_failed(done, tmp_path, f"type {TYPES[type_number]}, pattern", "--space-limit", rank=1)


def test_file_that_is_larger_than_what_was_written_is_no_full_disk(openmpi, tmp_path):
    """Intel's library of the MPI ABI moves the pointer too far; here twice as far as it should."""
    env = faulty(openmpi, "b_eff_io", FAULT_SEEK=1)
    done = run(openmpi, tmp_path, 1, *BRIEF, "--types separate --methods write", env=env)
    assert_failed(done, tmp_path, "type separate, closing", "were written; the MPI library wrote data at wrong offsets")


def test_abort_that_hangs_does_not_keep_the_run(openmpi, tmp_path):
    """After failed I/O the MPI library may be beyond its own abort."""
    env = faulty(openmpi, "b_eff_io", FAULT_FULL_RANK=1, FAULT_ABORT=1)
    done = run(openmpi, tmp_path, 3, *BRIEF, "--partitions 3", env=env)
    assert done.returncode != 0 and "type separate" in done.stderr
    assert end(tmp_path)["status"] == "failed" and not leftovers(tmp_path)


@EACH
@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("file", "offset"),
    [("n2-type0", 0), ("n2-type1", 1234567), ("n2-type2-rank1", 999999), ("n2-type3", 2 * MIB), ("n2-type4", 1048577)],
)
def test_byte_changed_on_disk_is_found_with_its_place(mpi, tmp_path, file, offset):
    env = faulty(mpi, "b_eff_io", FAULT_FLIP=f"{file}:{offset}")
    done = run(mpi, tmp_path, 2, *BRIEF, "--partitions 2 --check-all", env=env)
    words = f"type {TYPES[int(file[7])]}", "1 of ", f"the first at offset {offset}"
    assert_failed(done, tmp_path, *words, rank=1 if "rank1" in file else None)


def test_byte_changed_in_what_was_read_last_is_found_by_the_sample(openmpi, tmp_path):
    """The first pattern is a single call of 1 MiB for each process: all of it is in the sample."""
    env = faulty(openmpi, "b_eff_io", FAULT_FLIP=f"n2-type0:{MIB + 5}")
    done = run(openmpi, tmp_path, 2, *BRIEF, "--partitions 2", env=env)
    assert_failed(done, tmp_path, f"offset {MIB + 5}", rank=1)


def test_hanging_shared_pointers_end_the_run_and_name_the_variant(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 2, *BRIEF, "--hang-after 2", env=faulty(openmpi, "b_eff_io", FAULT_HANG=1))
    assert done.returncode != 0 and "the run hangs" in done.stderr
    wait_until(lambda: end(tmp_path)["record"] == "end")
    assert "no progress for 2 s" in end(tmp_path)["reason"] and end(tmp_path)["status"] == "hung"
    assert any("--individual-pointers" in process["place"] for process in end(tmp_path)["processes"])
    assert not leftovers(tmp_path)


def test_variant_runs_where_shared_pointers_hang(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 2, *BRIEF, "--individual-pointers", env=faulty(openmpi, "b_eff_io", FAULT_HANG=1))
    assert done.returncode == 0 and end(tmp_path)["status"] == "complete"
