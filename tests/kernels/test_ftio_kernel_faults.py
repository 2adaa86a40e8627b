# SPDX-License-Identifier: Apache-2.0
"""FTIO's verification finds a fault in any phase."""

import pytest
from builds import faulty
from ftio_runs import assert_right, run
from kernel_runs import error, of_kind

from coffeecup.postprocess.benchmarks.ftio.rules import tolerated_difference

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
            pytest.param(kind, number, id=f"{kind}-{stage}", marks=() if place % 3 == turn else pytest.mark.prove)
            for turn, kind in enumerate(("flip_write", "lost_write", "misplaced_write"))
            for place, (stage, number) in enumerate(WRITES.items())
        ),
        pytest.param("no_exchange", 0, id="skipped-exchange"),
        pytest.param("swapped_halves", 0, id="swapped-square"),
        pytest.param("wrong_sign", 0, id="wrong-sign"),
    ],
)
def test_fault_in_any_one_phase_is_found_by_verification(openmpi, tmp_path, kind, number):
    env = faulty(openmpi, "ftio", FAULT_KIND=kind, FAULT_NUMBER=number, FAULT_RANK=2)
    done = run(openmpi, tmp_path, 4, "--input 4", env=env)
    assert done.returncode == 1
    assert "verification failed: the largest relative difference" in error(done)
    [end] = of_kind(tmp_path / "ftio.jsonl", "end")
    assert end["status"] == "failed"
    assert "largest relative difference" in end["reason"]
    [found] = of_kind(tmp_path / "ftio.jsonl", "repetition")
    assert found["verification"]["largest_relative_difference"] > tolerated_difference(64)
    assert not list(tmp_path.glob("ftio-*"))


def test_without_a_fault_the_library_changes_nothing(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 4, "--input 4 --keep", env=faulty(openmpi, "ftio"))
    assert done.returncode == 0
    assert_right(tmp_path / "ftio.jsonl")


@pytest.mark.parametrize(
    "kind, said", [("full_write", "No space left on device; free some space"), ("broken_read", "Input/output error")]
)
@pytest.mark.parametrize(
    "number", [10, pytest.param(200, marks=pytest.mark.prove), pytest.param(128 + 200, marks=pytest.mark.prove)]
)
def test_failing_call_ends_the_run_with_one_line_and_nothing_left(openmpi, tmp_path, kind, said, number):
    env = faulty(openmpi, "ftio", FAULT_KIND=kind, FAULT_NUMBER=number, FAULT_RANK=1)
    done = run(openmpi, tmp_path, 4, "--input 4", env=env)
    assert done.returncode != 0
    assert said in error(done)
    assert [path.name for path in tmp_path.iterdir()] == ["ftio.jsonl"]
