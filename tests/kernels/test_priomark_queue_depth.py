# SPDX-License-Identifier: Apache-2.0
"""Queue depths of PRIOMark's async: how many requests are in flight, as strace sees it."""

import re

import kernel_runs
import pytest
from kernel_runs import error
from priomark_runs import KIB, command, of_kind, run
from system_calls import most_in_flight

DEPTH = 8


def workload(method, depth=DEPTH, size="512KiB", pattern="read"):
    return (
        f'check = true; async = {{ process_size = "{size}"; queue_depth = {depth}; methods = "{method}"; '
        f'patterns = "{pattern}"; }};'
    )


def strace(serial, folder, text, *options):
    words = command(serial, folder, text, 1)
    done = kernel_runs.run(["strace", "-f", "-qq", "-y", "-o", folder / "strace", *options, *words])
    if "is not available" in done.stderr:
        pytest.skip(error(done))
    assert done.returncode == 0, done.stderr
    return (folder / "strace").read_text().splitlines()


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_posix_aio_has_as_many_requests_in_flight(serial, tmp_path, depth):
    """strace makes every pread last a fifth of a second: that is enough for all threads of glibc to get there."""
    lines = strace(
        serial, tmp_path, workload("posix-aio", depth), "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=200000"
    )
    assert most_in_flight(lines, "pread64", "/async") == depth
    ranges = {
        (int(size), int(offset))
        for size, offset in re.findall(r", (\d+), (\d+)\) += \d+", "\n".join(lines))
        if int(size) == 512 * KIB // depth
    }
    assert ranges == {(512 * KIB // depth, n * 512 * KIB // depth) for n in range(depth)}


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_io_uring_submits_as_many_requests_at_once(serial, tmp_path, depth):
    lines = strace(serial, tmp_path, workload("io-uring", depth), "-e", "trace=io_uring_enter")
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


@pytest.mark.parametrize(
    "text, words",
    [
        (workload("posix-aio", 7), "524288 bytes are not a multiple of 7 requests"),
        (workload("posix-aio", 0), "from 1 to 1024"),
        (workload("posix-aio", 1025), "from 1 to 1024"),
    ],
)
def test_impossible_depth_is_refused(serial, tmp_path, text, words):
    done = run(serial, tmp_path, text)
    assert done.returncode == 2 and words in error(done)


def test_methods_with_one_request_refuse_a_depth(openmpi, tmp_path):
    done = run(openmpi, tmp_path, workload("individual"))
    assert done.returncode == 2 and 'individual has one request; choose methods = ["io-uring", "posix-aio"]' in error(
        done
    )
