# SPDX-License-Identifier: Apache-2.0
"""The sizes that FTIO's kernel chooses, requests that it refuses, and the memory and files that it leaves alone."""

import re

import kernel_runs
import pytest
from file_systems import memory
from ftio_runs import needs_ftio, run
from kernel_runs import error, good, records
from raw_log import read_log

from coffeecup.postprocess.benchmarks.ftio.sizes import automatic_input, input_for_bytes

INVALID = [(2, 3, 4), (3, 4, 6), (4, 5, 6), (6, 7, 12), (8, 2, 4), (9, 4, 6), (16, 2, 4), (1, 1, 2)]
REFUSED = {
    "--input big": "not an input parameter",
    "--input 0": "not an input parameter",
    "--input 1000000": "is too large for 2 processes",
    "--input 20TiB": "free",
    "--directory nowhere": "No such file",
    "--directory /dev/null": "Not a directory",
    "--storage tape": "valid are posix, mpiio",
    "--input 8 --direct": "the next valid one is 32$",
    "--input 32 --direct --storage mpiio": "requires --storage posix",
    "--repeat 0": "from 1 to",
}


@pytest.mark.parametrize(
    ("ranks", "options", "said"),
    [
        *((ranks, f"--input {i}", f"the next valid one is {valid}$") for ranks, i, valid in INVALID),
        *((2, *request) for request in REFUSED.items()),
    ],
)
def test_impossible_request_is_refused_before_any_file_is_made(openmpi, tmp_path, ranks, options, said):
    done = run(openmpi.impatient, tmp_path, ranks, options)
    assert done.returncode == 2 and re.search(said, error(done)), error(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_auto_is_equation_5(mpi, tmp_path, ranks):
    run(mpi, tmp_path, ranks, "--input auto")
    assert records(tmp_path / "ftio.jsonl")[1]["input_parameter"] == automatic_input(ranks)


@pytest.mark.parametrize("size, i", [("1B", 2), ("16KiB", 4), ("16385B", 6), ("1MiB", 12), ("2MiB", 16)])
def test_size_gives_the_lowest_input_whose_matrix_is_as_large(mpi, tmp_path, size, i):
    run(mpi, tmp_path, 2, f"--input {size}")
    assert records(tmp_path / "ftio.jsonl")[1]["input_parameter"] == i == input_for_bytes(bytes_of(size), 2)


def bytes_of(size):
    number, unit = re.fullmatch(r"(\d+)(\w+)", size).groups()
    return int(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20}[unit]


def test_too_small_disk_is_refused_before_any_file_is_made(mpi, tmp_path):
    with memory(tmp_path / "small", "size=8m") as small:
        done = run(mpi, tmp_path, 2, f"--input 16MiB --directory {small}")
        assert done.returncode == 2 and "8388608 bytes free" in error(done)
        assert not list(small.iterdir()) and not (tmp_path / "ftio.jsonl").exists()


def test_matrix_several_times_larger_than_a_memory_limit_runs_inside_it(mpi, tmp_path):
    needs_ftio(mpi)
    limit = 32 * 2**20  # of data that is not a file's, each process
    command = mpi.command(2, "ftio", f"--input 256MiB --log {tmp_path}/ftio.jsonl")
    command[3:3] = ["prlimit", f"--data={limit}"]
    good(kernel_runs.run(command, env=mpi.environment, cwd=tmp_path))
    log = read_log(tmp_path / "ftio.jsonl")
    assert log.plan["matrix_bytes"] >= 4 * 2 * limit
    assert log.records["repetition"][0]["peak_resident_bytes"] < log.plan["matrix_bytes"] / 8


def test_kernel_writes_no_more_than_its_own_directory(mpi, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "precious").write_text("data")
    good(run(mpi, tmp_path, 2, f"--input 4 --directory {tmp_path}/disk"))
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["precious"]
    assert (tmp_path / "disk" / "precious").read_text() == "data"
