# SPDX-License-Identifier: Apache-2.0
"""b_eff's kernel finds every damaged message."""

import pytest
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

CALLS = {"sendrecv": "Sendrecv", "alltoallv": "Alltoallv", "nonblocking": "Waitall", "blocking": "Recv"}
CALLS |= {"neighbor": "Neighbor_alltoallv", "persistent": "Startall"}
# Ranks, method, kind, length and number of the damaged message: each method with both kinds, one of them in the longest
# message; one method with both kinds in both; and one of three ranks with two neighbours.
DAMAGES = [(2, method, *damage) for method in CALLS for damage in (("flip", 4096, 5), ("drop", 32768, 2))]
DAMAGES += [(2, "sendrecv", "flip", 32768, 2), (2, "sendrecv", "drop", 4096, 5)]
DAMAGES += [(3, "alltoallv", kind, 1024, 3) for kind in ("flip", "drop")]


@pytest.mark.in_turn
@pytest.mark.parametrize(("ranks", "method", "kind", "length", "number"), DAMAGES)
def test_one_damaged_message_fails_the_run_and_is_named(kernel, ranks, method, kind, length, number):
    """Only one message of thousands is struck, on the last rank, after `number` others of its length."""
    struck = ranks - 1
    where = {"CALL": CALLS[method], "BYTES": length, "RANK": struck, "OFFSET": 0 if kind == "drop" else length - 3}
    fault = {f"FAULT_{name}": value for name, value in where.items()}
    kernel.network(MODEL_LATENCY=5e-4, MODEL_BANDWIDTH=1e9, FAULT_KIND=kind, FAULT_NUMBER=number, **fault)
    pattern = "ping_pong" if method == "blocking" else "ring"
    options = f"--memory-per-process 4MiB --patterns {pattern} --methods {method} --first-loop-length 2"
    done = kernel.run(ranks, options)
    [error] = kernel.errors(done)
    name = "ping-pong" if method == "blocking" else "ring-1"
    said = f"pattern {name}, method {method}, message length {length} byte: rank {struck} received a wrong byte from "
    assert f"{said}rank 0 at offset " in error
    if (ranks, kind) == (2, "flip"):
        assert f"at offset {length - 3};" in error
    assert done.returncode == 1
    end = kernel.records()[-1]
    assert end["status"] == "failed" and end["reason"] in error
    assert (end["rank"], end["host"]) == (struck, kernel.records()[0]["hosts"][0]["name"])
    with pytest.raises(LogError, match="data check"):
        read_log(kernel.log)
