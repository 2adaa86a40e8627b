# SPDX-License-Identifier: Apache-2.0
"""When a run of b_eff is official, and what qualifies its result."""

import copy
from dataclasses import replace

import logs_made
import pandas as pd
import pytest
from edits import edit, put
from logs_made import GIB, first, with_cores
from logs_made_b_eff import AVERAGED, averaged_log, b_eff_log, retimed, steady
from msgspec.structs import replace as but
from scores import keys

from coffeecup.postprocess.benchmarks.b_eff import qualifications
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.logs.records import End, Overhead


def test_a_run_by_the_papers_rules_is_official_and_unqualified(scored):
    score = scored(b_eff_log())
    assert score.official and score.qualifications == ()


def averaged(**options):
    """Of rings and random patterns only."""
    return b_eff_log(**{"methods": AVERAGED} | options, only=lambda name: name.startswith(("ring", "random")))


def with_memory_by_option(r):
    r[0].update(memory_source="option", options={**r[0]["options"], "memory-per-process": GIB})


@pytest.mark.parametrize(
    ("key", "options", "change"),
    [
        ("repetitions", {"repetitions": 1}, None),
        ("methods", {"methods": ("sendrecv", "nonblocking")}, None),
        ("first_loop_length", {}, put("plan", first_loop_length=10)),
        ("simulated", {"simulated": True}, None),
        ("memory_by_option", {}, with_memory_by_option),
    ],
)
def test_a_broken_rule_makes_the_run_not_official_and_is_told(scored, key, options, change):
    records = averaged(**options)
    _ = change and change(records)
    score = scored(records)
    assert not score.official and keys(score) == [key]
    assert score.qualifications[0].text.startswith("Not official: ")


def busy(others=(0, 0), stolen=(0, 0)):
    """Others use so many cores of each host."""

    def change(records):
        activity = first(records, record="activity")
        for host, used, taken in zip(activity["hosts"], others, stolen):
            host["others_user_seconds"] = used * activity["elapsed_seconds"]
            host["stolen_seconds"] = taken * activity["elapsed_seconds"]

    return change


def bound_to_few_cores(records):
    busy(others=(1.5, 0))(records)
    with_cores(records, 0, 8)


def shorten(records, pattern, length):
    """The first repetition of a loop takes a hundredth of a loop of 1 ms."""
    loop = first(records, record="measurement", pattern=pattern, message_bytes=length)
    loop |= retimed(loop, 8e-6)


def slow_pair(seconds):
    """In the second repetition a pair of processes of the second host takes this long for a round trip of a cache
    line."""
    trips = {"shortest_round_trip_seconds": 1e-7, "longest_round_trip_seconds": seconds}
    return lambda records: first(records, record="probe", repetition=2)["hosts"].__setitem__(1, trips)


def check_half(records):
    check = first(records, record="data_check")
    check["checked_bytes"] = check["received_bytes"] // 2


@pytest.mark.parametrize(
    ("key", "says", "change"),
    [
        ("overcommitted", "8 processes shared 4 cores on node01", lambda r: with_cores(r, 1, 4)),
        ("load_of_others", "used 36 of 128 cores of node01 and less of 1 more", busy(others=[10, 36])),
        ("load_of_others", "used 1.500 of 128 cores of node00,", busy(others=[1.5, 0])),
        ("load_of_others", "used 1.500 of 128 cores of node00,", bound_to_few_cores),
        ("stolen", "used 2 of 128 cores of node01,", busy(stolen=[0, 2])),
        ("activity_unknown", "is not known", edit("del activity")),
        ("over_budget", "took 400 s, longer than its time budget of 300 s", put("end", elapsed_seconds=400.0)),
        ("coarse_clock", "0.1 us", lambda r: [r[2].update(clock_resolution_seconds=1e-7), shorten(r, "ring-1", 1)]),
        ("short_loops", "1 of", lambda r: shorten(r, "ring-2", 64)),
        ("cores_disagree", "201 ns on node01, took 2.0 times as long as the", slow_pair(2.01e-7)),
        ("partly_checked", "50.0% of the received bytes were checked", check_half),
    ],
)
def test_what_flatters_or_limits_the_result_is_told(scored, key, says, change):
    records = copy.deepcopy(averaged(bandwidth=steady(2e-5)))
    change(records)
    score = scored(logs_made.numbered(records))
    assert score.official and keys(score) == [key] and says in score.qualifications[0].text


def test_a_run_on_one_host_is_told_to_have_measured_no_network(scored):
    score = scored(averaged(nodes=1))
    assert score.official and keys(score) == ["one_host"]


def test_probes_that_differ_by_less_than_a_factor_of_two_agree(scored):
    records = copy.deepcopy(b_eff_log(methods=("sendrecv",)))
    slow_pair(1.99e-7)(records)
    assert "cores_disagree" not in keys(scored(records))


@pytest.mark.parametrize(("slower", "disagree"), [(1.09, False), (1.11, True)])
def test_repetitions_that_differ_by_more_than_a_tenth_qualify_the_result(scored, slower, disagree):
    """All of the second repetition is slower by a factor; b_eff is that of the others."""
    rates = {1: 1e9 / slower}
    score = scored(averaged_log(repetitions=3, bandwidth=lambda *loop: rates.get(loop[3], 1e9)))
    assert score.metrics["b_eff"].value == pytest.approx(1000, rel=1e-12)
    told = [q.text for q in score.qualifications if q.key == "repetitions_disagree"]
    assert ["each by itself gives 1000, 900.9, 1000 MByte/s" in text for text in told] == [True] * disagree


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """An official one."""
    return read_log(logs_made.write(tmp_path_factory.mktemp("log") / "log.jsonl", averaged()))


@pytest.mark.parametrize(
    ("plan", "broken"),
    [
        ({}, []),
        ({"repetitions": 2}, ["repetitions"]),
        ({"repetitions": 4}, ["repetitions", "measured_seldom"]),
        ({"first_loop_length": 299}, ["first_loop_length"]),
        ({"longest_loop_length": 100_000}, []),
        ({"longest_loop_length": 99_999}, ["longest_loop_length"]),
        ({"random_patterns": 29}, ["random_patterns"]),
    ],
)
def test_an_official_run_keeps_the_lengths_of_loops_and_the_numbers_of_the_paper(log, plan, broken):
    planned = replace(log, plan=but(log.plan, **plan))
    assert [key for key, _ in qualifications.breaches(planned)] == broken


@pytest.mark.parametrize(("resolution", "coarse"), [(0.99e-7, False), (1.01e-7, True)])
def test_a_clock_is_coarse_from_a_hundredth_of_the_shortest_loop_on(log, resolution, coarse):
    """The shortest loop that enters the score takes 10 us; loops of 1 byte may be shorter than 1 ms."""
    rows = [(True, 1, 1e-5), (True, 64, 1e-3), (False, 64, 1e-9)]
    table = pd.DataFrame(rows, columns=["averaged", "message_bytes", "elapsed_seconds"])
    overhead = but(log.only(Overhead), clock_resolution_seconds=resolution)
    found = qualifications.of_loops(replace(log, by_class=log.by_class | {Overhead: [overhead]}), table)
    assert [key for key, _ in found] == ["coarse_clock"] * coarse


@pytest.mark.parametrize(("times", "late"), [(1.0, False), (1.0499, False), (1.0501, True)])
def test_a_run_may_take_a_twentieth_longer_than_its_time_budget(log, times, late):
    end = but(log.end, elapsed_seconds=times * log.plan.time_budget_seconds)
    found = qualifications.of_time(replace(log, by_class=log.by_class | {End: [end]}))
    assert [key for key, _ in found] == ["over_budget"] * late


@pytest.mark.parametrize(
    ("nodes", "qualified"), [("partition_nodes=3", True), ("partition_nodes=2", False), ("", False)]
)
def test_a_run_on_a_part_of_the_partition_says_so(scored, nodes, qualified):
    """The run has two nodes. Without a check, nothing is known about the partition."""
    records = averaged_log(repetitions=3)
    records[0]["environment"]["COFFEECUP_ASKED"] = f"processes_per_node=8,{nodes}"
    texts = {q.key: q.text for q in scored(records).qualifications}
    assert ("part_of_partition" in texts) == qualified
    assert not qualified or "2 of the 3 nodes of the partition" in texts["part_of_partition"]
