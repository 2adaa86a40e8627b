# SPDX-License-Identifier: Apache-2.0
"""Rules of PRIOMark on single measurements: limits from both sides, and answers by hand. test_rule_limits.py has those
on whole logs."""

import copy

import logs_made
import pytest
from logs_made import MIB, of_kind
from logs_made_priomark import ALL, priomark_log
from msgspec.structs import replace as but
from scores import names

from coffeecup.postprocess.benchmarks.priomark import rules as priomark
from coffeecup.postprocess.benchmarks.priomark.records import Latencies, Measurement
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import read_log

RECORDS = priomark_log(ranks=4, benchmarks=ALL, process_bytes=(MIB,), repetitions=2)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small sound log."""
    return read_log(logs_made.write(tmp_path_factory.mktemp("log") / "log.jsonl", RECORDS))


def common(log, **fields):
    return but(log.all(Measurement)[0], **{"fastest_seconds": 0.0} | fields)


@pytest.mark.parametrize("name", ["access_seconds", "sync_seconds", "fastest_seconds"])
@pytest.mark.parametrize(("seconds", "sound"), [(1 + 1.9e-6, True), (1 + 2.1e-6, False)])
def test_no_part_takes_longer_than_the_whole_by_more_than_two_ticks(log, name, seconds, sound):
    record = common(log, **{"elapsed_seconds": 1.0, "access_seconds": 1.0, "sync_seconds": 0.0, name: seconds})
    assert names(priomark.problems_of_times(log, record)) == ([] if sound else ["parts"])


@pytest.mark.parametrize(("elapsed", "sound"), [(7.09, True), (7.11, False)])
def test_the_whole_takes_5_percent_and_5_s_longer_than_its_parts(log, elapsed, sound):
    """1 s of access and 1 s of synchronisation: 2.1 s and 5 s."""
    record = common(log, elapsed_seconds=elapsed, access_seconds=1.0, sync_seconds=1.0)
    assert names(priomark.problems_of_times(log, record)) == ([] if sound else ["whole"])
    other = but(record, benchmark="trace")
    assert names(priomark.problems_of_times(log, other)) == []


@pytest.mark.parametrize(("seconds", "sound"), [(4.0000049, True), (4.0000051, False)])
def test_requests_take_as_long_as_the_accesses_of_four_processes(log, seconds, sound):
    [latencies] = log.all(Measurement)[0].latencies
    record = common(
        log, elapsed_seconds=1.0, access_seconds=1.0, sync_seconds=0.0, latencies=[but(latencies, sum_seconds=seconds)]
    )
    assert names(priomark.problems_of_times(log, record)) == ([] if sound else ["request_time"])
    assert names(priomark.problems_of_times(log, but(record, benchmark="async"))) == []


TWO_BINS = {"from_seconds": [1e-6, 5e-6], "to_seconds": [1.02e-6, 5.1e-6], "bin_calls": [5, 5]}
ONE_BIN = {"from_seconds": [1e-6], "to_seconds": [1.02e-6], "bin_calls": [10]}
ONE_BIN |= {"shortest_seconds": 1.01e-6, "longest_seconds": 1.015e-6}


def edges(*bins, **more):
    low, high = map(list, zip(*bins))
    return {"from_seconds": low, "to_seconds": high, **more}


FIRST, LAST = (1e-6, 1.02e-6), (5e-6, 5.1e-6)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, None),
        # the extremes are in the outermost bins, whose edges are whole nanoseconds
        ({"shortest_seconds": 1e-6 - 1.9e-9}, None),
        ({"shortest_seconds": 1e-6 - 2.1e-9}, "extremes"),
        ({"shortest_seconds": 1.02e-6 + 1.9e-9}, None),
        ({"shortest_seconds": 1.02e-6 + 2.1e-9}, "extremes"),
        ({"longest_seconds": 5e-6 - 1.9e-9}, None),
        ({"longest_seconds": 5e-6 - 2.1e-9}, "extremes"),
        ({"longest_seconds": 5.1e-6 + 1.9e-9}, None),
        ({"longest_seconds": 5.1e-6 + 2.1e-9}, "extremes"),
        (ONE_BIN | {"shortest_seconds": 1.016e-6, "sum_seconds": 10.15e-6}, "extremes"),
        # 5 * 1 + 5 * 5 = 30 and 5 * 1.02 + 5 * 5.1 = 30.6 us, and 2 ns for each of ten calls
        ({"sum_seconds": 29.981e-6}, None),
        ({"sum_seconds": 29.979e-6}, "latency_sum"),
        ({"sum_seconds": 30.619e-6}, None),
        ({"sum_seconds": 30.621e-6}, "latency_sum"),
        # ten times the shortest call, and ten times the longest
        (ONE_BIN | {"sum_seconds": 10.081e-6}, None),
        (ONE_BIN | {"sum_seconds": 10.079e-6}, "latency_sum"),
        (ONE_BIN | {"sum_seconds": 10.169e-6}, None),
        (ONE_BIN | {"sum_seconds": 10.171e-6}, "latency_sum"),
        # bins touch each other
        (edges(FIRST, (1.02e-6, 1.04e-6), longest_seconds=1.03e-6, sum_seconds=10.2e-6), None),
        (edges(FIRST, (1.01999e-6, 1.04e-6)), "bins"),
        (edges(FIRST, (5e-6, 5e-6)), "bins"),
        # half a bin is 1/64 of its middle: 0.63 to 0.65; or 2 ns wide
        (edges(FIRST, (0.63, 0.65 + 1.9e-8), longest_seconds=0.64, sum_seconds=3.2), None),
        (edges(FIRST, (0.63, 0.65 + 2.2e-8)), "bin_widths"),
        (edges((1e-9, 2.9e-9), LAST, shortest_seconds=2e-9, sum_seconds=25.2e-6), None),
        (edges((1e-9, 3.1e-9), LAST), "bin_widths"),
        # counts
        ({"calls": 9}, "latency_calls"),
        ({"bin_calls": [5, 6]}, "latency_calls"),
        ({"bin_calls": [5, 6], "calls": 11}, "latency_calls"),
        ({"bin_calls": [10]}, "latency_calls"),
        ({"operation": "write"}, "latencies"),
    ],
)
def test_limits_of_latencies(log, fields, problem):
    found = {"operation": "read", "calls": 10, "sum_seconds": 30.3e-6}
    found |= {"shortest_seconds": 1.01e-6, "longest_seconds": 5.05e-6}
    record = common(log, read_calls=10, write_calls=0, latencies=[Latencies(**found | TWO_BINS | fields)])
    problems = priomark.problems_of_latencies(log.plan, record)
    if problem == "latencies":
        assert next(problems)[0] == problem
    else:
        assert names(problems) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("pattern", "share", "reads"),
    [("x", 0.5, 3), ("x", 0.49, 2), ("x", None, 0), ("write", None, 0), ("read", None, 5), ("backwards-read", None, 5)],
)
def test_reads_among_five_requests(log, pattern, share, reads):
    assert priomark.share_of(common(log, pattern=pattern, read_share=share), 5) == reads


@pytest.mark.parametrize("name", ["shortest_seconds", "longest_seconds", "sum_seconds", "access_seconds"])
@pytest.mark.parametrize(
    ("factor", "sound"), [(1.0, True), (1 + 0.9e-9, True), (1 + 1.1e-9, False), (1 - 1.1e-9, False)]
)
def test_a_transfer_of_three_requests_takes_as_long_as_each_of_them(log, name, factor, sound):
    """Four processes of 1, 2, 3 and 4 s with three requests each: together 30 s."""
    stated = {"shortest_seconds": 1.0, "longest_seconds": 4.0, "access_seconds": 4.0, "sum_seconds": 30.0}
    stated[name] *= factor
    access = stated.pop("access_seconds")
    record = next(found for found in log.all(Measurement) if found.benchmark == "async")
    values = record.values | {"io_overlapped_seconds": [1.0, 2.0, 3.0, 4.0]}
    record = but(record, process_bytes=3 * MIB, block_bytes=MIB, access_seconds=access, values=values)
    record = but(record, latencies=[but(record.latencies[0], **stated)])
    assert names(priomark.problems_of_transfer(record)) == ([] if sound else ["transfer"])


@pytest.mark.parametrize(
    ("calculation", "covered", "sound"),
    [
        (2 * (1 - 0.9e-9), 1, True),
        (2 * (1 - 1.1e-9), 1, False),
        (2 * (1 + 0.9e-9), 0, True),
        (2 * (1 + 1.1e-9), 0, False),
        (3.0, 1, True),
        (1.0, 0, True),
        (3.0, 0.5, False),
    ],
)
def test_a_calculation_covers_a_transfer_of_two_seconds(calculation, covered, sound):
    assert priomark.is_covered_as_stated(2.0, calculation, covered) is sound


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (
            "seed = 7;\nrepetitions : 03\ncheck = TRUE, evict=false",
            {"seed": "7", "repetitions": "3", "check": "true", "evict": "false"},
        ),
        ("# seed = 1\n// seed = 2\n/* seed = 3\n*/ raw = { seed = 4; x = ( 5 ); };", {}),
        ('name = "seed = 1;"; seed = 0x10; check = 1.5;', {}),
        ("group = { };\nseed = 12;", {"seed": "12"}),
    ],
)
def test_settings_of_a_workload_are_those_outside_of_groups_comments_and_texts(text, settings):
    assert priomark.settings_of(text) == settings


@pytest.mark.parametrize(("less", "refused"), [(0.9e-6, False), (1.1e-6, True)])
def test_the_whole_run_takes_as_long_as_its_parts(scored, less, refused):
    """In async, transfer and calculation alone take 2/3 and 0.6 of the transfer beside the calculation, which takes 1.2
    of it."""
    records = copy.deepcopy(RECORDS)
    total = 0.0
    for record in of_kind(records, "measurement"):
        of_async = record["access_seconds"] * (2 / 3 + 0.6 + 1.2)
        seconds = of_async if record["benchmark"] == "async" else record["elapsed_seconds"]
        total += record["open_seconds"] + record["close_seconds"] + seconds
    logs_made.ended(records, total - less)
    found = scored(logs_made.numbered(records))
    assert isinstance(found, Score) is not refused and (not refused or found.endswith("[whole_time]"))
