# SPDX-License-Identifier: Apache-2.0
"""Queue depths of PRIOMark's async: how many requests are in flight, as strace sees it."""

import re

import pytest
from kernel_runs import error, refused
from priomark_runs import KIB, of_kind, run, straced
from system_calls import most_in_flight

DEPTH = 8


def workload(method, depth=DEPTH, size="512KiB", pattern="read"):
    return (
        f'check = true; async = {{ process_size = "{size}"; queue_depth = {depth}; methods = "{method}"; '
        f'patterns = "{pattern}"; }};'
    )


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_posix_aio_has_as_many_requests_in_flight(serial, tmp_path, depth):
    """strace makes every pread last a fifth of a second: that is enough for all threads of glibc to get there."""
    slow = ("-e", "trace=pread64", "-e", "inject=pread64:delay_enter=200000")
    lines = straced(serial, tmp_path, workload("posix-aio", depth), 1, *slow)
    assert most_in_flight(lines, "pread64", "/async") == depth
    size, moved = 512 * KIB // depth, re.findall(r", (\d+), (\d+)\) += \d+", "\n".join(lines))
    assert {int(offset) for length, offset in moved if int(length) == size} == {n * size for n in range(depth)}


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_io_uring_submits_as_many_requests_at_once(serial, tmp_path, depth):
    lines = straced(serial, tmp_path, workload("io-uring", depth), 1, "-e", "trace=io_uring_enter")
    submitted = [int(n) for n in re.findall(r"io_uring_enter\(\d+<[^>]*>, (\d+),", "\n".join(lines))]
    assert set(submitted) - {0} == {depth}


@pytest.mark.parametrize("method", ["posix-aio", "io-uring"])
@pytest.mark.parametrize("pattern", ["read", "write"])
def test_requests_together_move_all_data_and_are_counted(serial, tmp_path, method, pattern):
    done = run(serial, tmp_path, workload(method, f"[1, {DEPTH}]", pattern=pattern))
    if "is not available" in done.stderr:
        pytest.skip(error(done))
    assert done.returncode == 0, done.stderr
    found = of_kind(tmp_path, "measurement")
    assert [
        (m["block_bytes"], m["read_calls"] + m["write_calls"], m["read_bytes"] + m["written_bytes"]) for m in found
    ] == [(512 * KIB, 1, 512 * KIB), (512 * KIB // DEPTH, DEPTH, 512 * KIB)]
    [check] = of_kind(tmp_path, "data_check")
    assert check["checked_bytes"] == check["read_bytes"] == (pattern == "read") * 2 * 512 * KIB


ONE_REQUEST = 'individual has one request; choose methods = ["io-uring", "posix-aio"]'


@pytest.mark.parametrize(
    "method, depth, said",
    [
        ("posix-aio", 7, "524288 bytes are not a multiple of 7 requests"),
        ("posix-aio", 0, "from 1 to 1024"),
        ("posix-aio", 1025, "from 1 to 1024"),
        ("individual", DEPTH, ONE_REQUEST),
    ],
)
def test_impossible_depth_is_refused(openmpi, tmp_path, method, depth, said):
    refused(run(openmpi.impatient, tmp_path, workload(method, depth)), said)
