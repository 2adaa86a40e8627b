# SPDX-License-Identifier: Apache-2.0
"""The reduction of FTIO against known answers: arithmetic over made-up times, the paper's sizes, and logs that must be
refused."""

import copy

import logs_made
import numpy as np
import pandas as pd
import pytest
from logs_made import of_kind, with_cores
from logs_made_ftio import IO, STAGES, ftio_log, half
from scores import keys, values

from coffeecup.postprocess.benchmarks.ftio import reduction as ftio
from coffeecup.postprocess.benchmarks.ftio.rules import tolerated_difference
from coffeecup.postprocess.benchmarks.ftio.section import paper_table
from coffeecup.postprocess.benchmarks.ftio.sizes import automatic_input
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs

MIB = 2**20


def altered(change, **options):
    """A good log with one change, made by a function of the list of records."""
    records = copy.deepcopy(ftio_log(**options))
    change(records)
    return records


def measured(records, stage, activity):
    return next(r for r in of_kind(records, "measurement") if (r["stage"], r["activity"]) == (stage, activity))


# --- the score --------------------------------------------------------------------------------------------------------


def test_io_fraction_is_half_where_io_takes_half_of_the_time(scored):
    score = scored(ftio_log())
    assert values(score)["io_fraction"] == pytest.approx(0.5)
    assert score.headline[0] == "io_fraction"


def test_io_fraction_is_of_the_process_with_most_io_against_the_slowest(scored):
    def seconds(stage, activity, process, repetition):
        io = 1 + process  # process 3 waits four times as long for the file system; the others wait for it
        return io if activity == "read" else 4 - process if activity == "wait" else 0.5

    score = values(scored(ftio_log(seconds=seconds)))
    other_io = 0.5 * (1 + 2 * 5)  # open; write and flush in five stages
    rest = 0.5 * 7  # one activity in each stage that is neither I/O nor waiting, two in the first
    slowest = max(5 * (1 + p) + 6 * (4 - p) + other_io + rest for p in range(4))
    assert score["io_fraction"] == pytest.approx((5 * 4 + other_io) / slowest)
    assert score["io_fraction_least_process"] == pytest.approx((5 * 1 + other_io) / slowest)


def test_transform_alone_leaves_out_making_and_checking_the_matrix(scored):
    def seconds(stage, activity, process, repetition):
        return (100.0 if stage in ("initialise", "verify") else 1.0) if IO[activity] else 1.0

    score = values(scored(ftio_log(seconds=seconds)))
    assert score["io_fraction_of_transform"] == pytest.approx(12 / 20)


def test_mean_and_interval_over_repetitions(scored):
    fractions = [0.2, 0.4, 0.6, 0.8]

    def seconds(stage, activity, process, repetition):
        share = fractions[repetition - 1]
        io, rest = {"initialise": (3, 3), "verify": (1, 2)}.get(stage, (3, 2))
        return share / io if IO[activity] else (1 - share) / rest

    score = values(scored(ftio_log(repetitions=4, seconds=seconds)))
    assert score["io_fraction"] == pytest.approx(0.5)
    assert 0.2 < score["io_fraction_low"] < 0.5 < score["io_fraction_high"] < 0.8
    # the normal approximation of a mean of four
    spread = 1.96 * np.std(fractions) / 2
    assert score["io_fraction_high"] - score["io_fraction_low"] == pytest.approx(2 * spread, rel=0.2)


def test_one_run_has_no_interval_and_says_so(scored):
    score = scored(ftio_log(repetitions=1))
    assert "io_fraction_low" not in score.metrics
    assert "single_run" in keys(score)


def test_mflops_are_nominal_operations_by_the_whole_time(scored):
    score = values(scored(ftio_log(ranks=4, i=4)))
    elapsed = 2 * len(STAGES)  # a second of I/O and a second of the rest in each stage
    assert score["mflops"] == pytest.approx(10 * 64 * 64 * 6 / elapsed / 1e6, rel=1e-12)
    assert score["mflops_in_fft"] == pytest.approx(10 * 64 * 64 * 6 / (2 * 0.5) / 1e6, rel=1e-12)


def test_bandwidth_of_writes_is_timed_with_their_flush(scored):
    score = values(scored(ftio_log(ranks=4, i=4)))
    matrix = 16 * 64 * 64
    third = 1 / 3
    seconds = {"series_read": third, "series_write": 2 * third, "initialise_write": 2 * third, "verify_read": 1}
    seconds |= {"exchange_write": 2 * third / 0.75, "exchange_between_processes": 0.5 / 0.75}
    assert {name: score[name] for name in seconds} == pytest.approx(
        {name: matrix / 1e6 / each for name, each in seconds.items()}
    )


def test_bandwidth_of_a_stage_takes_the_times_of_this_stage_alone(scored):
    """Series 1 and 2 count together: both move the matrix, in 2 and 3 times a third of a second."""
    slower = dict(zip(STAGES, (1, 2, 4, 5, 3, 6)))
    score = values(scored(ftio_log(ranks=4, i=4, seconds=lambda stage, *place: slower[stage] * half(stage, *place))))
    third_of_matrix = 3 * 16 * 64 * 64 / 1e6  # in a second, when it takes a third of one
    assert score["series_read"] == pytest.approx(2 * third_of_matrix / (2 + 3))
    assert score["series_write"] == pytest.approx(2 * third_of_matrix / (2 + 3) / 2)
    assert score["transpose_read"] == pytest.approx(third_of_matrix / 4)
    assert score["exchange_read"] == pytest.approx(0.75 * third_of_matrix / 5)


def test_sizes_are_in_mebibytes(scored):
    score = values(scored(ftio_log(ranks=4, i=4)))
    assert (score["matrix_size"], score["peak_resident"]) == (16 * 64 * 64 / 2**20, 20)


def test_each_counter_of_cycles_has_a_metric_of_its_own(scored):
    """N = 64: 2 * 64 transforms of 5 * 64 * 6 operations. The counted operations enter neither."""
    both = values(scored(ftio_log(ranks=4, i=4, cycles=6 * 10**9, flops=2 * 10**9, time_stamp_cycles=10**9)))
    assert both["cycles_per_flop"] == pytest.approx(6e9 / 245760)
    assert both["time_stamp_cycles_per_flop"] == pytest.approx(1e9 / 245760)
    counted = values(scored(ftio_log(cycles=6 * 10**9, time_stamp_cycles=None)))
    assert "cycles_per_flop" in counted and "time_stamp_cycles_per_flop" not in counted
    timed = values(scored(ftio_log()))
    assert "cycles_per_flop" not in timed and "time_stamp_cycles_per_flop" in timed


def test_one_process_has_no_exchange_and_is_not_official(scored):
    score = scored(ftio_log(ranks=1, i=4, nodes=1))
    assert not score.official
    benchmark = benchmarks()["ftio"]
    counted = {"cycles_per_flop", "time_stamp_cycles_per_flop", "io_fraction_low", "io_fraction_high"}
    assert benchmark.optional_metrics - counted == set(benchmark.units) - set(score.metrics) - {"cycles_per_flop"}


def test_several_logs_at_once_give_what_each_gives_alone(tmp_path):
    made = [ftio_log(ranks=4, i=4), ftio_log(ranks=2, i=2), [], ftio_log(ranks=8, i=4, repetitions=2)]
    paths = [logs_made.write(tmp_path / f"{number}.jsonl", records) for number, records in enumerate(made)]
    together = score_logs(paths)
    for path, score in zip(paths, together):
        [alone] = score_logs([path])
        assert str(alone) == str(score) if not isinstance(score, Score) else values(alone) == values(score)


# --- what qualifies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, key",
    [
        ({"memory_per_process_bytes": 2**30}, "cached"),
        ({"memory_per_process_bytes": 2**30, "filesystem": "tmpfs"}, "memory_file_system"),
        ({"direct": True}, "direct"),
        ({"storage": "mpiio"}, "shared_file"),
        ({"nodes": 1}, "one_host"),
        ({"seconds": lambda *_: 1e-3}, "short_run"),
    ],
)
def test_what_flatters_or_limits_a_result_is_said(scored, options, key):
    options = {"i": 12, "memory_per_process_bytes": 2**16} | options
    assert key in keys(scored(ftio_log(**options)))


def test_matrix_larger_than_memory_is_not_cached(scored):
    matrix_of_a_process = 16 * (144 * 4) ** 2 // 4
    assert "cached" not in keys(scored(ftio_log(i=12, memory_per_process_bytes=matrix_of_a_process // 2)))


# Official: no more processes than cores, at least 10 s for each repetition, and direct or larger than memory. With i =
# 12 on 4 processes the matrix has 5308416 byte; `hosts` has two nodes with two processes each.
LARGE = {"i": 12, "memory_per_process_bytes": 1_000_000}


def ten_seconds_in_all(scale):
    """I/O and the rest of each of six stages take 5/6 s each."""
    return lambda *place: half(*place) * 5 / 6 * scale


@pytest.mark.parametrize(
    ("options", "broken"),
    [
        (LARGE, []),
        ({"i": 12, "memory_per_process_bytes": 5_308_416 // 4 - 1}, []),
        ({"i": 12, "memory_per_process_bytes": 5_308_416 // 4}, ["cached"]),
        ({"i": 12, "memory_per_process_bytes": 2**40, "direct": True}, []),
        ({"i": 12, "memory_per_process_bytes": 2**40, "direct": True, "filesystem": "tmpfs"}, ["cached"]),
        ({"i": 4, "memory_per_process_bytes": 2**30}, ["cached"]),
        (LARGE | {"seconds": ten_seconds_in_all(1.001)}, []),
        (LARGE | {"seconds": ten_seconds_in_all(0.999)}, ["short_run"]),
        (LARGE | {"seconds": lambda *place: half(*place) * (0.5 if place[-1] == 2 else 1)}, ["short_run"]),
    ],
)
def test_official_needs_a_matrix_beyond_memory_or_direct_io_and_ten_seconds(scored, options, broken):
    score = scored(ftio_log(**options))
    assert [breach.key for breach in score.breaches] == broken
    assert score.official == (not broken)


@pytest.mark.parametrize(("cores", "official"), [(2, True), (1, False)])
def test_official_needs_a_core_for_each_process(scored, cores, official):
    records = altered(lambda r: [with_cores(r, host, cores) for host in range(len(r[0]["hosts"]))], **LARGE)
    assert scored(records).official == official


def test_overcommitted_run_is_not_official(scored):
    score = scored(altered(lambda records: with_cores(records, 0, 1)))
    assert not score.official
    assert [q.key for q in score.qualifications].count("overcommitted") == 1


# --- what is refused --------------------------------------------------------------------------------------------------


def test_wrong_result_yields_no_score(scored):
    assert "verification failed" in scored(ftio_log(relative_difference=1e-3))
    assert "verification failed" in scored(ftio_log(relative_difference=2 * tolerated_difference(64)))
    assert isinstance(scored(ftio_log(relative_difference=tolerated_difference(64))), Score)


@pytest.mark.parametrize(
    ("name", "share", "refused"),
    [
        ("elapsed_seconds", 0.981, False),
        ("elapsed_seconds", 0.979, True),
        ("elapsed_seconds", 1.0001, True),
        ("io_seconds", 0.999, True),
        ("transform_elapsed_seconds", 0.999, True),
        ("transform_io_seconds", 0.999, True),
    ],
)
def test_phases_account_for_the_time_of_the_processes(scored, name, share, refused):
    """The whole may be 2 % longer than its phases, because it is timed apart; its parts are sums of the phases."""
    records = ftio_log()
    for record in of_kind(records, "repetition"):
        record[name] = [seconds / share for seconds in record[name]]
    score = scored(records)
    assert isinstance(score, str) is refused
    assert not refused or score.endswith("[sums]")


# --- the input parameter to run at ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fractions, chosen",
    [
        ({4: 0.5, 8: 0.5, 16: 0.5}, 4),  # all the same: the smallest takes least time
        ({4: 0.9, 8: 0.52, 16: 0.5}, 8),
        ({4: 0.5, 8: 0.9, 16: 0.5}, 16),  # not settled before 16
        ({16: 0.5, 8: 0.9, 4: 0.2}, 16),
        ({24: 0.5}, 24),
        ({4: 0.549, 8: 0.451, 16: 0.5}, 4),  # up to 0.05 is no difference
        ({4: 0.551, 8: 0.5}, 8),
        ({4: 0.449, 8: 0.5}, 8),
    ],
)
def test_representative_input_is_the_lowest_that_agrees_with_all_larger_ones(fractions, chosen):
    assert ftio.representative_input(pd.Series(fractions)) == chosen
    exact = pd.Series({4: 0.75, 8: 0.5})
    assert [ftio.representative_input(exact, significant) for significant in (0.25, 0.249)] == [4, 8]


# --- the paper's tables -----------------------------------------------------------------------------------------------


def test_published_tables_are_the_papers():
    first, second = paper_table(1), paper_table(2)
    of_table_1 = [(4, 0.52, 68.9), (8, 0.50, 139.3), (16, 0.43, 173.6), (32, 0.47, 259.1)]
    assert [(row["processes"], row["io_fraction"], row["mflops"]) for row in first] == of_table_1
    assert [(row["processes"], row["io_fraction"]) for row in second] == [(4, 0.58), (8, 0.51), (16, 0.56), (32, 0.39)]
    for row, of_table_1 in zip(second, first, strict=True):
        assert row["difference"] == pytest.approx(row["io_fraction"] - of_table_1["io_fraction"])
        assert row["error"] == pytest.approx(100 * abs(row["difference"]) / of_table_1["io_fraction"], abs=0.05)
        assert f"i = {automatic_input(row['processes'])}," in row["note"]
