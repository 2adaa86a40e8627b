# SPDX-License-Identifier: Apache-2.0
"""What b_eff_io's kernel is asked for: hints, impossible requests, dry runs and evictions."""

import pytest
from b_eff_io_runs import BRIEF, EACH, SMALL, assert_failed, leftovers, run
from builds import faulty
from file_systems import memory
from kernel_runs import good, refused
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log


def test_hints_reach_the_library_and_the_log(tmp_path, mpich):
    hints = tmp_path / "hints.cfg"
    hints.write_text(
        'hints = ( { set = { cb_buffer_size = "1048576"; }; },\n'
        '  { method = "read"; type = "scatter"; chunk = "32KiB"; set = { romio_ds_read = "disable"; }; } );\n'
    )
    good(run(mpich, tmp_path, 2, *BRIEF, f"--partitions all --hints {hints}"))
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["partitions"] == [2], "all processes"
    assert {r["hints"]["cb_buffer_size"] for r in log.records["pattern_type"]} == {"1048576"}
    with_own = [r for r in log.records["measurement"] if r["hints"] is not None]
    assert [(r["method"], r["pattern"]) for r in with_own] == [("read", 4)]
    assert with_own[0]["hints"]["romio_ds_read"] == "disable" and with_own[0]["hints"]["cb_buffer_size"] == "1048576"


def test_hints_without_a_file(tmp_path, mpich):
    """They are part of what the log states about its options, so that no file is named as an input."""
    good(run(mpich, tmp_path, 2, *BRIEF, "--hints cb_buffer_size=1048576,romio_ds_read=disable"))
    log = read_log(tmp_path / "log.jsonl")
    for name, value in (("cb_buffer_size", "1048576"), ("romio_ds_read", "disable")):
        assert {r["hints"][name] for r in log.records["pattern_type"]} == {value}
    assert {r["hints"] for r in log.records["measurement"]} == {None}
    assert "input" not in {file["role"] for node in log.records["files"] for file in node["files"]}


REFUSED = [
    ("--partitions 2,1", "ascending"),
    ("--partitions 3", "from 1 to 2"),
    ("--partitions two", "list of numbers"),
    ("--methods read", "write is required"),
    ("--types segmented", "it determines the counts of the others"),
    ("--quick --top-clusters", "exclude each other"),
    ("--space-limit 4MiB", "; choose a larger --space-limit, or choose fewer --partitions"),
    ("--space-limit 1024TiB", "bytes free; choose a smaller --space-limit"),
    ("--largest-chunk 2097156", "multiple of 8"),
    ("--directory /no/such/place", "No such file"),
    ("--hints cb_nodes=2,cb_buffer_size", "are no hints: write NAME=VALUE,NAME=VALUE,..., or ./ before"),
    ("--hints cb_nodes=", "the hint 'cb_nodes' must be a non-empty text"),
    ("--hints no=such/hints.cfg,x", "are no hints: write NAME=VALUE,"),
    ("--hints ./no=such", "cannot read the hints file './no=such'"),
    ("--hints /dev/zero", "cannot read the hints file '/dev/zero': not a regular file"),
]
HINTS = [
    ("hints = (", "syntax error"),
    ("x = 1;", "no list 'hints'"),
    ('hints = ( { method = "reed"; set = { a = "b"; }; } );', "invalid 'method'"),
    ('hints = ( { chunk = "big"; set = { a = "b"; }; } );', "invalid 'chunk'"),
    ('hints = ( { chunk = "33KiB"; set = { a = "b"; }; } );', 'no pattern has the chunk "33KiB"; choose'),
    ('hints = ( { type = "random"; chunk = "32776"; set = { a = "b"; }; } );', "no pattern of type random has the"),
    ("hints = ( { set = { a = 1; }; } );", "the hint 'a' must be a non-empty text in quotes"),
    ('hints = ( { method = "read"; } );', "with set ="),
]


@pytest.mark.parametrize(("request_", "says"), REFUSED + HINTS)
def test_impossible_request_is_refused(openmpi, tmp_path, request_, says):
    """An option, or the text of a file of hints, which is named."""
    hints = tmp_path / "hints.cfg"
    hints.write_text(request_)
    words = request_ if request_.startswith("--") else f"--hints {hints}"
    done = run(openmpi.impatient, tmp_path, 2, *SMALL, words)
    assert says in refused(done, *["hints.cfg"] * (words != request_))
    assert leftovers(tmp_path) == ["hints.cfg"] and not (tmp_path / "log.jsonl").exists()


def test_dry_run_tells_time_and_space_and_makes_nothing(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 2, *SMALL, "--dry-run")
    assert done.returncode == 0 and "1800 s in total" in done.stdout and "GByte are free" in done.stdout
    assert not list(tmp_path.iterdir())


def test_dry_run_states_fractions_of_a_gbyte(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 1, *SMALL, "--scheduled-time 1 --dry-run")
    assert "Each 1000 MByte/s of write bandwidth require 0.333 GByte" in done.stdout


@pytest.mark.parametrize("option", ["--hints missing.cfg", "--interface mpi-io"])
def test_dry_run_refuses_what_the_run_would_refuse(openmpi, tmp_path, option):
    refused(run(openmpi.impatient, tmp_path, 2, *SMALL, option, "--dry-run"))


def eviction(log):
    return {q.key for q in score_log(log.path).qualifications} & {"evicted", "not_evicted"}


@EACH
def test_eviction_that_took_place_is_stated(mpi, tmp_path):
    good(run(mpi, tmp_path, 2, *BRIEF, "--partitions 2 --evict"))
    log = read_log(tmp_path / "log.jsonl")
    assert all((r["cached_bytes"] is None) == (r["method"] != "read") for r in log.records["pattern_type"])
    assert eviction(log) == {"evicted"}


def test_eviction_without_effect_is_stated(openmpi, tmp_path):
    """A file system in memory keeps its pages."""
    with memory(tmp_path / "small", "size=4g") as small:
        done = run(openmpi, tmp_path, 2, *BRIEF, f"--space-limit 500MiB --partitions 2 --evict --directory {small}")
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert all(
        r["cached_bytes"] >= r["file_bytes"] / r["files"]
        for r in log.records["pattern_type"]
        if r["method"] == "read" and r["segment_bytes"] is None
    )  # a segment has holes where calls were left out
    assert eviction(log) == {"not_evicted"}


def test_eviction_that_fails_ends_the_run(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 2, *BRIEF, "--partitions 2 --evict", env=faulty(openmpi, "b_eff_io", FAULT_EVICT=1))
    assert_failed(done, tmp_path, "cannot evict its file from the cache", "Invalid argument", "--evict")
