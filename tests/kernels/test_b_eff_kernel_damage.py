# SPDX-License-Identifier: Apache-2.0
"""b_eff's kernel finds every damaged message."""

import pytest
from b_eff_runs import kernel, mpi, network
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

__all__ = ["kernel", "mpi", "network"]  # fixtures

CALLS = {
    "sendrecv": "Sendrecv",
    "alltoallv": "Alltoallv",
    "nonblocking": "Waitall",
    "neighbor": "Neighbor_alltoallv",
    "persistent": "Startall",
    "blocking": "Recv",
}


# Each method with both kinds, one of them in the longest message; one method with both kinds in both.
DAMAGES = [
    (method, kind, *message) for method in CALLS for kind, message in (("flip", (4096, 5)), ("drop", (32768, 2)))
]
DAMAGES += [("sendrecv", "flip", 32768, 2), ("sendrecv", "drop", 4096, 5)]


@pytest.mark.in_turn
@pytest.mark.parametrize(("method", "kind", "length", "number"), DAMAGES)
def test_one_damaged_message_fails_the_run_and_is_named(kernel, method, kind, length, number):
    """Only one message of thousands is struck, on rank 1, after `number` others of its length."""
    offset = 0 if kind == "drop" else length - 3
    kernel.network(
        MODEL_LATENCY=5e-4,
        MODEL_BANDWIDTH=1e9,
        FAULT_KIND=kind,
        FAULT_CALL=CALLS[method],
        FAULT_BYTES=length,
        FAULT_RANK=1,
        FAULT_NUMBER=number,
        FAULT_OFFSET=offset,
    )
    pattern = "ping_pong" if method == "blocking" else "ring"
    done = kernel.run(
        2, "--memory-per-process", "4MiB", "--patterns", pattern, "--methods", method, "--first-loop-length", "2"
    )
    [error] = kernel.errors(done)
    name = "ping-pong" if method == "blocking" else "ring-1"
    assert (
        f"pattern {name}, method {method}, message length {length} byte: rank 1 received a wrong byte from rank 0 at "
        "offset " in error
    )
    if kind == "flip":
        assert f"at offset {offset};" in error
    assert done.returncode == 1
    end = kernel.records()[-1]
    assert end["status"] == "failed" and end["reason"] in error
    assert (end["rank"], end["host"]) == (1, kernel.records()[0]["hosts"][0]["name"])
    with pytest.raises(LogError, match="data check"):
        read_log(kernel.log)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", ["flip", "drop"])
def test_a_damaged_message_is_found_among_three_ranks_and_two_neighbours(kernel, kind):
    kernel.network(
        MODEL_LATENCY=5e-4,
        MODEL_BANDWIDTH=1e9,
        FAULT_KIND=kind,
        FAULT_CALL="Alltoallv",
        FAULT_BYTES=1024,
        FAULT_RANK=2,
        FAULT_NUMBER=3,
        FAULT_OFFSET=1023,
    )
    done = kernel.run(
        3, "--memory-per-process", "4MiB", "--patterns", "ring", "--methods", "alltoallv", "--first-loop-length", "2"
    )
    [error] = kernel.errors(done)
    assert "method alltoallv, message length 1024 byte: rank 2 received a wrong byte from rank 0 at offset " in error
    assert done.returncode == 1
