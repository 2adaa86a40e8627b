# SPDX-License-Identifier: Apache-2.0
"""Rules of FTIO on single phases: limits from both sides, and answers by hand. test_rule_limits.py has those on whole
logs."""

from dataclasses import replace

import logs_made
import pytest
from logs_made import of_kind
from logs_made_ftio import ftio_log, half
from msgspec.structs import replace as but
from scores import names

from coffeecup.postprocess.benchmarks.ftio import rules as ftio
from coffeecup.postprocess.benchmarks.ftio.records import Measurement, Repetition
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import read_log


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small sound log."""
    return read_log(logs_made.write(tmp_path_factory.mktemp("log") / "log.jsonl", ftio_log(ranks=4, repetitions=2)))


@pytest.mark.parametrize(
    ("buffer", "storage", "activity", "calls"),
    [
        (16 * 16 * 16, "posix", "read", 12),  # the 12 Squares that move, each in one part
        (16 * 16 * 5, "posix", "read", 48),  # five of 16 rows at once: four parts
        (16 * 16 * 5 - 1, "posix", "read", 48),
        (16 * 16 * 4, "posix", "exchange", 48),
        (16 * 16 * 4 - 1, "posix", "exchange", 72),
        (1, "posix", "read", 192),
        (10**9, "posix", "read", 12),
        (10**9, "mpiio", "read", 192),  # row by row
        (10**9, "mpiio", "exchange", 12),
    ],
)
def test_a_square_is_exchanged_in_as_many_parts_as_the_buffer_holds_rows(log, buffer, storage, activity, calls):
    """i = 4 on 4 processes: Squares of 16 rows of 16 elements of 16 bytes."""
    plan = but(log.plan, exchange_buffer_bytes=buffer, storage=storage)
    assert ftio.expected_calls(plan, 4, "exchange", activity) == calls


@pytest.mark.parametrize(
    ("stage", "activity", "calls"),
    [
        ("transpose", "compute", 16 * 10),  # 16 Squares: 4 Mini-Squares on the diagonal, 6 pairs
        ("transpose", "read", 16 * 64),  # 16 Mini-Squares of 4 rows
        ("series_1", "fft", 64 * 4),
        ("verify", "wait", 4),
        ("initialise", "plan", 4),
    ],
)
def test_calls_of_a_stage_by_hand(log, stage, activity, calls):
    assert ftio.expected_calls(log.plan, 4, stage, activity) == calls


@pytest.mark.parametrize(
    ("fastest", "mean", "slowest", "sound"),
    [
        (1.0, 1.5 * (1 - 0.9e-6), 3.0, True),  # three of four took 1 s
        (1.0, 1.5 * (1 - 1.1e-6), 3.0, False),
        (1.0, 2.5 * (1 + 0.9e-6), 3.0, True),  # three of four took 3 s
        (1.0, 2.5 * (1 + 1.1e-6), 3.0, False),
        (1 + 0.9e-6, 1.0, 1.0, True),
        (1 + 1.1e-6, 1 + 0.5e-6, 1.0, False),
    ],
)
def test_the_mean_of_four_processes_lies_between_one_and_three_of_the_slowest(log, fastest, mean, slowest, sound):
    phase = log.all(Measurement)[1]
    found = but(phase, fastest_seconds=fastest, mean_seconds=mean, elapsed_seconds=slowest)
    assert names(ftio.problems_of_phase(log, found)) == ([] if sound else ["mean"])


@pytest.mark.parametrize(("activity", "sound"), [("read", {0, 1}), ("fft", {0})])
def test_a_system_may_transfer_less_than_requested_but_nothing_else_is_called_more_often(log, activity, sound):
    phase = next(p for p in log.all(Measurement) if (p.stage, p.activity) == ("series_1", activity))
    for more in (-1, 0, 1):
        found = but(phase, calls=phase.calls + more)
        assert names(ftio.problems_of_phase(log, found)) == ([] if more in sound else ["calls"])


@pytest.mark.parametrize(("resolution", "refused"), [(1e-8, True), (1.1e-8, False)])
def test_by_a_clock_coarser_than_10_ns_an_activity_may_have_taken_no_time(scored, resolution, refused):
    records = ftio_log(
        seconds=lambda stage, activity, *more: 0.0 if activity == "fft" else half(stage, activity, *more)
    )
    of_kind(records, "overhead")[0]["clock_resolution_seconds"] = resolution
    found = scored(logs_made.numbered([r for r in records if r.get("activity") != "fft"]))
    assert isinstance(found, Score) is not refused and (not refused or found.endswith("[order]"))


def test_several_processes_exchange_and_one_does_not(scored):
    """By a fine clock, on one process the stage has its flush and its wait alone."""
    alone = ftio_log(ranks=1, nodes=1)
    assert {r["activity"] for r in of_kind(alone, "measurement") if r["stage"] == "exchange"} == {"flush", "wait"}
    assert isinstance(scored(alone), Score)
    without = [r for r in ftio_log() if (r.get("stage"), r.get("activity")) != ("exchange", "exchange")]
    assert scored(logs_made.numbered(without)).endswith("[order]")


def test_bytes_of_a_repetition_by_hand():
    """N = 8 on two processes: 8 rows of 8 elements of 16 bytes, of which half change their process."""
    whole, half_of_it = 1024, 512
    stages = {(stage, way): whole for stage in ("series_1", "transpose", "series_2") for way in ("read", "write")}
    exchange = dict.fromkeys([("exchange", "read"), ("exchange", "write")], half_of_it)
    ends = {("initialise", "write"): whole, ("verify", "read"): whole}
    assert ftio.expected_bytes(8, 2) == ends | stages | exchange
    alone = ftio.expected_bytes(8, 1)
    assert ("exchange", "read") not in alone and ("exchange", "write") not in alone and len(alone) == 8


@pytest.mark.parametrize(
    ("times", "sound"),
    [
        ([10.0, 9.61, 10.0, 10.0], True),  # 2 % of the longest and 0.2 s: 0.4 s
        ([10.0, 9.59, 10.0, 10.0], False),
        ([10.0, 10.0, 10.41, 10.0], False),
        ([0.25, 0.046, 0.25, 0.25], True),  # 0.005 and 0.2 s
        ([0.25, 0.044, 0.25, 0.25], False),
    ],
)
def test_processes_end_a_repetition_together(log, times, sound):
    record = but(log.all(Repetition)[0], elapsed_seconds=times)
    assert names(ftio.problems_of_result(log, record)) == ([] if sound else ["together"])


def repetition(log, name, times):
    """A repetition of four processes with these times, which consists of two phases of 1 to 3 s and 2 to 4 s."""
    phase = next(p for p in log.all(Measurement) if (p.stage, p.activity) == ("series_1", "read"))
    phases = [
        but(phase, fastest_seconds=low, mean_seconds=mean, elapsed_seconds=high)
        for low, mean, high in ((1.0, 2.0, 3.0), (2.0, 3.0, 4.0))
    ]
    alike = dict.fromkeys(ftio.SUMS, [5.0] * 4)
    return but(log.all(Repetition)[0], **alike | {name: times}), phases


@pytest.mark.parametrize(
    ("name", "times", "problem"),
    [
        ("io_seconds", [5.0] * 4, []),
        ("io_seconds", [3 * (1 - 0.9e-6), 5.0, 5.0, 7 * (1 + 0.9e-6)], []),
        ("io_seconds", [3 * (1 - 1.1e-6), 5.0, 5.0, 7.0], ["processes"]),
        # a millionth of the 20 s of all processes more than the phases, and the rounding
        ("io_seconds", [3.0, 5.0, 5 - 2.6e-5, 7 + 2.6e-5], []),
        ("io_seconds", [3.0, 5.0, 5 - 2.8e-5, 7 + 2.8e-5], ["processes"]),
        ("transform_io_seconds", [2.9, 5.0, 5.1, 7.0], ["processes"]),
        ("transform_elapsed_seconds", [3.0, 5.0, 4.9, 7.1], ["processes"]),
        ("elapsed_seconds", [3.0, 5.0, 5.0, 7.0], []),
        # the whole is timed apart: 2 % of the 20.4 s of all processes more than the phases
        ("elapsed_seconds", [3.0, 5.0, 5.0, 7.4], []),
        ("elapsed_seconds", [3.0, 5.0, 4.993, 7.407], []),
        ("elapsed_seconds", [3.0, 5.0, 4.99, 7.41], ["processes"]),
        ("elapsed_seconds", [2.99, 5.0, 5.01, 7.0], ["processes"]),
        ("io_seconds", [20 * (1 + 0.9e-6) - 15, 5.0, 5.0, 5.0], []),
        ("io_seconds", [20 * (1 + 1.2e-6) - 15, 5.0, 5.0, 5.0], ["sums"]),
        ("io_seconds", [20 * (1 - 1.2e-6) - 15, 5.0, 5.0, 5.0], ["sums"]),
        ("io_seconds", [5.0, 5.0, 5.0], ["each_process", "sums"]),
    ],
)
def test_times_of_processes_lie_between_the_sums_of_the_fastest_and_the_slowest(log, name, times, problem):
    record, phases = repetition(log, name, times)
    assert names(ftio.problems_of_sums(4, record, phases)) == problem


@pytest.mark.parametrize(
    ("resolution", "sums", "agree"),
    [
        ("process", [1.0, 2 * (1 + 5.9e-4), 3.0, 4.0], True),
        ("process", [1.0, 2 * (1 + 6.1e-4), 3.0, 4.0], False),
        ("process", [1.0, 2.0, 3.0, 4 * (1 - 6.1e-4)], False),
        ("node", [2.0, 4.0], True),
        ("node", [3.0, 9.0], True),  # the slowest process of a phase is not that of the next one
        ("node", [2 * (1 - 5.9e-4), 4.0], True),
        ("node", [2 * (1 - 6.1e-4), 4.0], False),
        ("node", [3.0, 4 * (1 - 6.1e-4)], False),
    ],
)
def test_sums_of_phases_are_the_times_of_processes_or_of_nodes_at_least(log, resolution, sums, agree):
    """Two processes on each of two nodes."""
    ours = replace(log, plan=but(log.plan, process_times=resolution))
    assert ftio.agree(ours, sums, [1.0, 2.0, 3.0, 4.0]) == agree


@pytest.mark.parametrize(("change", "problem"), [(5.9e-4, []), (6.1e-4, ["process_mean"]), (-6.1e-4, ["process_mean"])])
def test_the_mean_of_the_processes_is_that_of_the_phase(tmp_path, change, problem):
    """1.5 s of four processes of which the first one took 1 and the last one 2 s; nothing computed enters the sums."""
    records = ftio_log(ranks=4, repetitions=1, seconds=lambda stage, activity, process, _: 1 + process / 3)
    logs_made.first(records, record="process_times", activity="compute")["seconds"][1] += 4 * 1.5 * change
    assert names(ftio.problems(read_log(logs_made.write(tmp_path / "log.jsonl", records)))) == problem
