# SPDX-License-Identifier: Apache-2.0
"""The files of b_eff_io together are not larger than --space-limit, whatever the types, sizes and processes."""

from random import Random

import pytest
from b_eff_io_runs import EACH, SMALL, run
from kernel_runs import error, good
from raw_log import read_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPE_RULES, TYPES, patterns_rule

MIB = 2**20


def one_of_each(types, partitions, alignment=MIB):
    """Bytes of one call of each pattern by each process; the pattern that fills up a segment takes the alignment."""
    calls = [call or alignment for name, _chunk, call, _units in patterns_rule(2 * MIB) if name in types]
    return sum(calls) * sum(partitions)


def write(mpi, folder, types, partitions, limit, alignment=MIB):
    """Patterns that are driven by time have 3 s or more each, far more than they need for their space."""
    options = ("--types", ",".join(types), "--partitions", ",".join(map(str, partitions)), "--methods", "write")
    sizes = ("--alignment", alignment, "--space-limit", limit, "--scheduled-time", 600)
    return run(mpi, folder, max(partitions), *SMALL, *options, *sizes, "--keep")


def patterns_and_bytes(folder):
    """The measurements, and the size of all files together."""
    [scratch] = [path for path in folder.iterdir() if path.is_dir()]
    files = [path.stat().st_size for path in scratch.iterdir() if not path.name.startswith(".")]
    found = read_log(folder / "log.jsonl").records
    assert sum(files) == sum(r["file_bytes"] for r in found["pattern_type"])
    return found["measurement"], sum(files)


@EACH
@pytest.mark.in_turn
@pytest.mark.parametrize("seed", range(8))
def test_files_stay_within_the_limit(mpi, tmp_path, seed):
    draw = Random(seed)
    first = draw.choice(TYPES[:3])
    types = [name for name in TYPE_RULES if name == first or draw.random() < 0.5]
    partitions = draw.choice([[1], [2], [3], [1, 2]])
    alignment = draw.choice([8, MIB, 3 * MIB + 8])
    limit = one_of_each(types, partitions, alignment) + draw.randrange(100 * MIB)
    good(write(mpi, tmp_path, types, partitions, limit, alignment))
    patterns, used = patterns_and_bytes(tmp_path)
    assert used <= limit
    assert {r["ended_by"] for r in patterns if r["type"] in TYPES[:3] and r["scheduled_seconds"]} == {"space"}


@EACH
@pytest.mark.in_turn
def test_types_that_may_write_ten_times_as_much_end_with_their_space(mpi, tmp_path):
    """A call of type shared counts as ten in type segmented-collective, whose patterns have no larger shares."""
    limit = 300 * MIB
    good(write(mpi, tmp_path, ["shared", "segmented-collective"], [2], limit))
    patterns, used = patterns_and_bytes(tmp_path)
    assert {r["ended_by"] for r in patterns if r["scheduled_seconds"]} == {"space"}
    calls = sum(r["call_bytes"] for r in patterns if r["scheduled_seconds"]) * 2
    assert limit - calls - 2 * MIB < used <= limit


def test_the_smallest_limit_allows_one_call_of_each_pattern(openmpi, tmp_path):
    limit = one_of_each(TYPES, [2])
    done = write(openmpi, tmp_path, TYPES, [2], limit - 1)
    assert f"requires {limit} bytes" in error(done) and not list(tmp_path.iterdir())
    good(write(openmpi, tmp_path, TYPES, [2], limit))
    patterns, used = patterns_and_bytes(tmp_path)
    assert {r["calls_max"] for r in patterns} == {1} and limit - 4 * MIB < used <= limit
