# SPDX-License-Identifier: Apache-2.0
"""The reduction of b_eff against known answers: arithmetic over plain lists, closed forms, and the paper's Table 1."""

import copy
import csv
import math
from importlib import resources
from pathlib import Path
from statistics import geometric_mean
from types import SimpleNamespace

import logs_made
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.benchmarks.b_eff import reduction as b_eff
from postprocess.benchmarks.b_eff.rules import l_max_rule, message_lengths, messages_per_exchange, ring_sizes
from postprocess.benchmarks.b_eff.section import odd_processes
from postprocess.benchmarks.registry import benchmarks
from postprocess.benchmarks.score import Score
from postprocess.benchmarks.scoring import read_log, score_log, score_logs
from postprocess.logs.reader import Log, LogError
from postprocess.show.words import NARROW_SPACE, digits

MIB, GIB = 2**20, 2**30
TABLE_1 = [
    {**row, "processes": int(row["processes"]), "value": float(row["value"])}
    for row in csv.DictReader(resources.files("reference_values").joinpath("published/b_eff.csv").open())
]


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """An official log of 16 processes with all patterns and methods."""
    return logs_made.write(tmp_path_factory.mktemp("full") / "b_eff.jsonl", logs_made.b_eff_log())


@pytest.fixture
def scored(tmp_path):
    """A function that scores records, or returns the refusal's message."""

    def result(records):
        [score] = score_logs([logs_made.write(tmp_path / "b_eff.jsonl", records)])
        return score if isinstance(score, Score) else str(score)

    return result


def averaged_log(**options):
    """A log of the averaged patterns and the ping-pong with one method: small, complete."""
    return logs_made.b_eff_log(
        **{"methods": ("nonblocking",), "repetitions": 1, **options},
        only=lambda name: name.startswith(("ring", "random", "ping")),
    )


def b_eff_over_lists(records, lengths=None):
    """b_eff in MByte/s by the paper's formula, over the raw records with plain Python."""
    plan = records[1]
    planned = {pattern["name"]: pattern for pattern in plan["patterns"]}
    best = {}
    for record in records:
        if record["record"] == "measurement" and record["method"] in ("sendrecv", "alltoallv", "nonblocking"):
            messages = planned[record["pattern"]]["messages_per_exchange"]
            key = record["pattern"], record["message_bytes"]
            bandwidth = record["message_bytes"] * messages * record["loop_length"] / record["elapsed_seconds"] / 1e6
            best[key] = max(best.get(key, 0), bandwidth)
    lengths = lengths or plan["message_bytes"]
    mean = {
        name: sum(best[name, length] for length in lengths) / len(lengths)
        for name, pattern in planned.items()
        if pattern["group"] in ("ring", "random")
    }
    rings = geometric_mean([mean[f"ring-{k}"] for k in range(1, 7)])
    randoms = geometric_mean([mean[f"random-{k:02}"] for k in range(1, 31)])
    return geometric_mean([rings, randoms]), rings, randoms


# --- the score --------------------------------------------------------------------------------------------------------


def test_b_eff_of_a_full_log_is_the_papers_formula_over_lists(full):
    records = logs_made.b_eff_log()
    value = {name: metric.value for name, metric in score_log(full).metrics.items()}
    effective, _, _ = b_eff_over_lists(records)
    at_l_max, rings_at_l_max, _ = b_eff_over_lists(records, [8 * MIB])
    assert value["b_eff"] == pytest.approx(effective, rel=1e-12)
    assert value["b_eff_per_process"] == pytest.approx(effective / 16, rel=1e-12)
    assert value["b_eff_at_l_max"] == pytest.approx(at_l_max, rel=1e-12)
    assert value["b_eff_at_l_max_per_process"] == pytest.approx(at_l_max / 16, rel=1e-12)
    assert value["b_eff_at_l_max_rings_per_process"] == pytest.approx(rings_at_l_max / 16, rel=1e-12)
    assert value["l_max"] == 8


def test_b_eff_of_constant_bandwidths_has_a_closed_form(scored):
    """With ring-k at 2^k GByte/s at every length and random at 1 GByte/s: logavg rings = 2^3.5, b_eff = 2^1.75
    GByte/s."""

    def bandwidth(name, *_):
        return 1e9 * 2 ** int(name[-1]) if name.startswith("ring") else 1e9

    score = scored(averaged_log(bandwidth=bandwidth))
    assert score.metrics["b_eff"].value == pytest.approx(1000 * 2**1.75, rel=1e-12)
    assert score.metrics["b_eff_at_l_max_rings_per_process"].value == pytest.approx(1000 * 2**3.5 / 16, rel=1e-12)
    assert score.metrics["ping_pong_bandwidth"].value == pytest.approx(1000, rel=1e-12)


def test_b_eff_is_the_arithmetic_mean_over_lengths(scored):
    """A bandwidth only at the longest length: a 21st of it, since the paper averages over 21 lengths and not over
    bytes."""
    score = scored(averaged_log(bandwidth=lambda name, method, length, *_: 21e9 if length == 8 * MIB else 21e3))
    assert score.metrics["b_eff"].value == pytest.approx(1000 + 20 * 21e3 / 21 / 1e6, rel=1e-12)
    assert score.metrics["b_eff_at_l_max"].value == pytest.approx(21000, rel=1e-12)


def test_best_method_and_best_repetition_count_but_never_a_reported_method(scored):
    fast = {
        ("sendrecv", 0): 1e9,
        ("alltoallv", 2): 3e9,
        ("nonblocking", 1): 2e9,
        ("neighbor", 0): 9e9,
        ("persistent", 0): 9e9,
    }
    records = logs_made.b_eff_log(
        bandwidth=lambda name, method, length, repetition, _: fast.get((method, repetition), 1e8),
        only=lambda name: name.startswith(("ring", "random", "worst")),
    )
    assert scored(records).metrics["b_eff"].value == pytest.approx(3000, rel=1e-12)


def test_patterns_that_are_only_reported_do_not_enter(scored):
    def bandwidth(name, *_):
        return 1e9 if name.startswith(("ring", "random")) else 1e11

    everything = logs_made.b_eff_log(bandwidth=bandwidth, methods=("sendrecv",))
    assert scored(everything).metrics["b_eff"].value == pytest.approx(1000, rel=1e-12)


def test_ping_pong_latency_is_half_the_round_trip_of_the_latency_loops(scored):
    """10000 round trips of 1 byte in 40 ms are 4 us each: the latency is 2 us, whatever the loops of 300 say."""
    records = averaged_log(repetitions=2)
    for record in loops_of(records, "latency", "ping-pong"):
        record |= {"elapsed_seconds": {1: 0.05, 2: 0.04}[record["repetition"]], "fastest_seconds": 0.04}
    assert scored(records).metrics["ping_pong_latency"].value == pytest.approx(2, rel=1e-12)


def test_ring_latency_is_the_time_of_an_exchange(scored):
    """10000 exchanges take k ms in ring-k at best: the geometric mean over the patterns of k / 10 us. In ring-1, with
    rings of two, a process sends one message, else two."""
    records = averaged_log(repetitions=2)
    for record in loops_of(records, "latency", "ring-"):
        seconds = int(record["pattern"][-1]) * 1e-3
        record |= {"elapsed_seconds": {1: 2 * seconds, 2: seconds}[record["repetition"]], "fastest_seconds": seconds}
    exchange = 0.1 * math.factorial(6) ** (1 / 6)
    metrics = scored(records).metrics
    assert metrics["ring_latency"].value == pytest.approx(exchange, rel=1e-12)
    assert metrics["ring_latency_per_message"].value == pytest.approx(exchange / 2 ** (5 / 6), rel=1e-12)


def test_latency_of_a_pattern_without_latency_loops_is_that_of_its_short_loops(scored):
    """300 round trips of 1 byte in 1.2 ms are 4 us each: the latency is 2 us. The budget record tells."""
    records = averaged_log(repetitions=2)
    for record in loops_of(records, "measurement", "ping-pong"):
        if record["message_bytes"] == 1:
            record |= {"elapsed_seconds": {1: 0.0015, 2: 0.0012}[record["repetition"]], "fastest_seconds": 0.0012}
    kept = [record for record in records if record not in loops_of(records, "latency", "ping-pong")]
    kept.insert(2, budget("ping-pong", 1, "nothing", [], loops="latency"))
    score = scored(logs_made.numbered(kept))
    assert score.metrics["ping_pong_latency"].value == pytest.approx(2, rel=1e-12)
    assert "latency_loops" in keys(score) and "budget" not in keys(score)


def loops_of(records, kind, pattern):
    return [record for record in records if record["record"] == kind and record["pattern"].startswith(pattern)]


def test_a_log_of_schema_version_1_has_the_same_scores(scored):
    """As far as it has the measurements: repetitions that followed each other, latencies from the loops of 300."""
    new, old = (scored(logs_made.b_eff_log(schema_version=version)) for version in (2, 1))
    assert old.official and keys(old) == []
    assert new.metrics.keys() - old.metrics.keys() == {"b_eff_release_3_6"}
    assert {name: metric.value for name, metric in old.metrics.items()} == pytest.approx(
        {name: new.metrics[name].value for name in old.metrics}, rel=1e-12
    )


def test_release_3_6_takes_the_smallest_bandwidth_of_a_process(scored):
    """5 processes, rings of 2 and 3 at L bytes a second and process in the pattern ring-1: all others as by the paper's
    formula. There processes of the ring of two send one message in 1 s, those of the ring of three two in 2 s: the
    paper divides 8 messages by 2 s, release 3.6 takes 5 messages a second."""
    records = averaged_log(
        ranks=5, bandwidth=lambda name, method, length, repetition, entry: entry["messages_per_exchange"] * length / 2
    )
    for record in loops_of(records, "measurement", "ring-1"):
        record |= {
            "slowest_message_seconds": 1.0 * record["loop_length"],
            "fastest_seconds": 1.0 * record["loop_length"],
        }
    metrics = scored(records).metrics
    assert metrics["b_eff_release_3_6"].value / metrics["b_eff"].value == pytest.approx((5 / 4) ** (1 / 12), rel=1e-9)
    values = {name: metric.value for name, metric in metrics.items()}
    [told] = odd_processes(5, values)
    assert (
        f"Release 3.6 of the original program would report {digits(values['b_eff_release_3_6'], NARROW_SPACE)} MByte/s"
        in told
    )
    assert odd_processes(6, values) == []


def test_log_without_ping_pong_has_all_other_metrics(scored):
    records = logs_made.b_eff_log(methods=("sendrecv",), only=lambda name: name.startswith(("ring", "random")))
    score = scored(records)
    assert list(score.metrics) == [name for name in benchmarks()["b_eff"].units if not name.startswith("ping_pong")]


def test_metrics_and_units_are_those_that_a_check_can_define_beforehand(full):
    score = score_log(full)
    assert (
        {name: metric.unit for name, metric in score.metrics.items()}
        == benchmarks()["b_eff"].units
        == {
            "b_eff": "MByte/s",
            "b_eff_per_process": "MByte/s",
            "b_eff_at_l_max": "MByte/s",
            "b_eff_at_l_max_per_process": "MByte/s",
            "b_eff_at_l_max_rings_per_process": "MByte/s",
            "ping_pong_bandwidth": "MByte/s",
            "ping_pong_latency": "us",
            "ring_latency": "us",
            "ring_latency_per_message": "us",
            "b_eff_release_3_6": "MByte/s",
            "time_to_communicate_total_memory": "s",
            "l_max": "MiB",
        }
    )
    assert score.headline[0] == "b_eff"


def test_many_logs_at_once_score_as_each_alone(tmp_path, full):
    paths = [full] + [
        logs_made.write(tmp_path / f"{n}.jsonl", averaged_log(ranks=n, bandwidth=logs_made.steady(link=n * 1e8)))
        for n in (2, 7, 32)
    ]
    broken = logs_made.write(tmp_path / "broken.jsonl", b"{")
    together = score_logs([paths[0], broken, *paths[1:]])
    assert isinstance(together.pop(1), LogError)
    assert together == [score_log(path) for path in paths]
    assert len({score.metrics["b_eff"].value for score in together}) == 4


def test_a_pool_of_processes_scores_as_one_does(tmp_path, monkeypatch):
    paths = [logs_made.write(tmp_path / f"{n}.jsonl", averaged_log(ranks=n)) for n in (2, 3)] + [
        tmp_path / "none.jsonl"
    ]
    alone = score_logs(paths)
    monkeypatch.setattr("postprocess.benchmarks.scoring.LOGS_WORTH_A_POOL", 1)
    monkeypatch.setattr("postprocess.benchmarks.scoring.LOGS_AT_ONCE", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    pooled = score_logs(paths)
    assert pooled[:2] == alone[:2] and str(pooled[2]) == str(alone[2])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), link=st.floats(1e6, 1e11))
def test_b_eff_of_any_table_is_the_formula_over_lists_in_any_order_of_rows(seed, link):
    """On a table made here: scaling all times scales b_eff, and the order of rows does not matter."""
    random = np.random.default_rng(seed)
    names = [("ring", f"ring-{k}") for k in range(1, 7)] + [("random", f"random-{k:02}") for k in range(1, 31)]
    rows = [
        {
            "log": 3,
            "group": group,
            "pattern": name,
            "method": method,
            "averaged": True,
            "message_bytes": length,
            "bandwidth": link * random.random() + 1,
        }
        for group, name in names
        for length in range(1, 22)
        for method in ("sendrecv", "alltoallv")
    ]
    best = {}
    for row in rows:
        place = row["pattern"], row["message_bytes"]
        best[place] = max(best.get(place, 0), row["bandwidth"])
    mean = {name: sum(best[name, length] for length in range(1, 22)) / 21 for _, name in names}
    expected = geometric_mean(
        [geometric_mean([mean[name] for g, name in names if g == group]) for group in ("ring", "random")]
    )
    table = pd.DataFrame(rows).sample(frac=1, random_state=seed)
    assert b_eff.b_eff(table).to_dict() == {3: pytest.approx(expected, rel=1e-9)}
    doubled = table.assign(bandwidth=2 * table["bandwidth"])
    assert b_eff.b_eff(doubled)[3] == pytest.approx(2 * expected, rel=1e-9)


@pytest.mark.parametrize(
    "gap",
    [
        "pattern == 'ring-6'",
        "pattern == 'random-30'",
        "group == 'random'",
        "pattern == 'ring-1' and message_bytes == 4",
    ],
)
def test_a_table_with_a_gap_is_an_error_and_no_mean_over_less(full, gap):
    table = b_eff.measurement_table([read_log(full)])
    with pytest.raises(ValueError, match="21 message lengths"):
        b_eff.b_eff(table.query(f"not ({gap})"))


# --- the paper's Table 1 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row"),
    [row for row in TABLE_1 if row["metric"] in ("b_eff", "b_eff_at_l_max")],
    ids=lambda row: f"{row['system']}-{row['processes']}-{row['metric']}".replace(" ", "_"),
)
def test_columns_per_process_of_table_1(scored, row):
    """A machine with the published b_eff has the published value per process, to the digits that the paper prints."""
    published = next(
        other
        for other in TABLE_1
        if (other["system"], other["processes"], other["metric"])
        == (row["system"], row["processes"], f"{row['metric']}_per_process")
    )
    if row["processes"] not in logs_made.RINGS:
        ours = row["value"] / row["processes"]
    else:
        score = scored(averaged_log(ranks=row["processes"], bandwidth=lambda *_: row["value"] * 1e6))
        assert score.metrics["b_eff"].value == pytest.approx(row["value"], rel=1e-12)
        ours = score.metrics[published["metric"]].value
    if row["note"]:
        assert abs(ours - published["value"]) > 1  # the paper's own inconsistency, noted in the published table
    else:
        assert abs(ours - published["value"]) <= 1


@pytest.mark.parametrize(
    ("processes", "value", "memory_per_process", "printed_seconds"),
    [
        (512, 19919, 128 * MIB, 3.2),
        (24, 1806, 1024 * MIB, 13.6),
    ],
)
def test_time_to_communicate_the_total_memory(processes, value, memory_per_process, printed_seconds):
    """L_max = 1 MiB and 8 MiB in Table 1 tell the memory per process. The paper divides MiB by MByte/s (and cuts off
    digits); seconds are longer by 2^20 / 10^6."""
    assert l_max_rule(memory_per_process) == {512: 1, 24: 8}[processes] * MIB
    papers = processes * memory_per_process / MIB / value
    assert math.floor(papers * 10) / 10 == printed_seconds
    seconds = papers * 2**20 / 1e6
    assert metric_of_constant_bandwidth(processes, value, memory_per_process) == pytest.approx(seconds, rel=1e-12)


def metric_of_constant_bandwidth(processes, value, memory_per_process):
    """time_to_communicate_total_memory where every measurement shows `value` MByte/s, straight from a table."""
    names = [("ring", f"ring-{k}") for k in range(1, 7)] + [("random", f"random-{k:02}") for k in range(1, 31)]
    table = pd.DataFrame(
        [
            {
                "log": 0,
                "group": group,
                "pattern": name,
                "method": "sendrecv",
                "averaged": True,
                "message_bytes": length,
                "messages_per_exchange": processes,
                "processes": processes,
                "loop_length": 1,
                "elapsed_seconds": 1.0,
                "slowest_message_seconds": np.nan,
                "bandwidth": float(value),
            }
            for group, name in names
            for length in message_lengths(l_max_rule(memory_per_process))
        ]
    )

    run = SimpleNamespace(ranks=processes, memory_per_process_bytes=memory_per_process)
    plan = SimpleNamespace(l_max_bytes=l_max_rule(memory_per_process), patterns=[])
    return b_eff.metrics([Log(Path("log.jsonl"), "", run, plan, {})], table).loc[0, "time_to_communicate_total_memory"]


# --- the specification's rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", logs_made.RINGS)
def test_ring_sizes_are_those_of_the_specifications_table(processes):
    by_hand = [[size for count, size in rings for _ in range(count)] for rings in logs_made.RINGS[processes]]
    assert [ring_sizes(processes, k) for k in range(1, 7)] == by_hand


@given(processes=st.integers(2, 5000), number=st.integers(1, 6))
def test_rings_hold_every_process_once_and_none_is_alone(processes, number):
    sizes = ring_sizes(processes, number)
    assert sum(sizes) == processes and min(sizes) >= 2 and max(sizes) - min(sizes) <= 1
    odd = [size % 2 for size in sizes]
    assert odd == sorted(odd)  # rings of odd size come last


@pytest.mark.parametrize(("sizes", "messages"), [([2], 2), ([2, 2], 4), ([3], 6), ([2, 3], 8), ([16], 32)])
def test_a_ring_of_two_holds_one_message_per_process(sizes, messages):
    assert messages_per_exchange(sizes) == messages


def test_message_lengths_are_those_of_the_specifications_example():
    assert list(message_lengths(8 * MIB)) == [2**k for k in range(13)] + [
        10624,
        27554,
        71468,
        185364,
        480774,
        1246974,
        3234251,
        8388608,
    ]


@pytest.mark.parametrize(
    ("memory", "l_max"), [(GIB, 8 * MIB), (128 * MIB, MIB), (16 * GIB, 128 * MIB), (512 * GIB, 128 * MIB)]
)
def test_l_max_is_a_128th_of_the_memory_and_at_most_128_mib(memory, l_max):
    assert l_max_rule(memory) == l_max


# --- logs that yield no score -----------------------------------------------------------------------------------------


def broken(change):
    """The records of a complete log after `change(run, plan, records)`, which may return other records."""
    records = copy.deepcopy(averaged_log(repetitions=3))
    changed = change(records[0], records[1], records)
    is_log = isinstance(changed, list) and changed[0] is records[0]
    return logs_made.numbered(changed if is_log else records)


def without(predicate):
    return lambda run, plan, records: [record for record in records if not predicate(record)]


def first(records, **fields):
    return next(record for record in records if all(record.get(name) == value for name, value in fields.items()))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda run, plan, r: first(r, record="activity")["hosts"].__delitem__(0),
            "1 activity records with 1 hosts, where one with 2 belongs",
        ),
        (
            without(lambda r: r.get("pattern") == "ring-3" and r["message_bytes"] == 64),
            "ring-3 at 64 byte with nonblocking was planned",
        ),
        (
            without(lambda r: r["record"] == "measurement" and r["pattern"] == "ping-pong" and r["message_bytes"] == 1),
            "ping-pong at 1 byte with blocking was planned",
        ),
        (without(lambda r: r["record"] == "measurement"), "was planned but not measured"),
        (without(lambda r: r["record"] == "data_check"), "0 data_check records"),
        (without(lambda r: r["record"] == "overhead"), "0 overhead records"),
        (lambda run, plan, r: [*r[:-2], first(r, record="measurement"), *r[-2:]], "measured more than once"),
        (lambda run, plan, r: plan["patterns"].pop(3), "planned 5 of the 6 ring patterns"),
        (lambda run, plan, r: plan["patterns"].__delitem__(slice(10, None)), "planned 3 of the 30 random patterns"),
        (lambda run, plan, r: plan["patterns"].append(plan["patterns"][0]), "ping-pong is planned twice"),
        (lambda run, plan, r: plan["patterns"][0].update(averaged=True), "ping-pong is planned as averaged"),
        (lambda run, plan, r: plan["patterns"][1].update(averaged=False), "ring-1 is planned as not averaged"),
        (lambda run, plan, r: plan["patterns"][1].update(name="ring-7"), "not ring-1 to ring-6"),
        (
            lambda run, plan, r: plan["patterns"][1].update(messages_per_exchange=32),
            "counts 32 messages per exchange, its rings hold 16",
        ),
        (
            lambda run, plan, r: plan["patterns"][9].update(messages_per_exchange=64),
            "counts 64 messages per exchange, its rings hold 32",
        ),
        (lambda run, plan, r: plan["patterns"][2].update(rings=[{"size": 8, "count": 2}]), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][2].update(rings=None), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][9].update(processes=8), "rings of random-03"),
        (lambda run, plan, r: plan["patterns"][9].update(methods=["magic"]), "random-03 is to run with magic"),
        (lambda run, plan, r: plan["methods"][0].update(averaged=False), "nonblocking is planned as not averaged"),
        (lambda run, plan, r: plan["methods"][1].update(averaged=True), "blocking is planned as averaged"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(15, 71000), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(3, 7), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].pop(), "not the paper's 21"),
        (lambda run, plan, r: plan.update(l_max_bytes=2**24), "not the paper's 21"),
        (lambda run, plan, r: plan.update(repetitions=4), "has 3 of 4 repetitions"),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(repetition=4),
            "has 3 of 3 repetitions",
        ),
        (
            lambda run, plan, r: [m.update(pattern="surprise") for m in loops_of(r, "measurement", "random-09")],
            "planned but not measured",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(pattern="surprise"),
            "surprise at 1 byte with nonblocking was measured but not planned",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(fastest_seconds=9.0),
            "slowest process was faster",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(
                elapsed_seconds=1e-300, fastest_seconds=0
            ),
            "nanosecond",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(elapsed_seconds=1e5),
            "timed loops sum up to",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="surprise"),
            "a latency loop of surprise at 1 byte with",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="random-09"),
            "a latency loop of random-09 at 1 byte with",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(message_bytes=2),
            "at 2 byte with blocking was measured but not planned",
        ),
        (lambda run, plan, r: first(r, record="latency").update(elapsed_seconds=9e-10), "has an impossible time"),
        (lambda run, plan, r: first(r, record="latency").update(fastest_seconds=9.0), "has an impossible time"),
        (lambda run, plan, r: first(r, record="data_check").update(wrong_bytes=2), "2 bytes were received wrong"),
        (
            lambda run, plan, r: first(r, record="data_check").update(received_bytes=0),
            "more bytes were checked than received",
        ),
        (lambda run, plan, r: run["hosts"][1].update(ranks=[0]), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run["hosts"][0]["ranks"].__setitem__(0, 9), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run.update(ranks=1), "needs at least two processes"),
    ],
)
def test_log_that_is_not_complete_yields_no_score(scored, change, says):
    assert says in scored(broken(change))


def test_a_run_of_some_patterns_is_told_that_it_has_no_b_eff_and_can_be_plotted(scored):
    records = logs_made.b_eff_log(methods=("sendrecv",), only=lambda name: name == "ping-pong")
    message = scored(records)
    assert "no b_eff: the run planned 0 of the 6 ring patterns" in message and "plotted" in message


def budget(pattern, length, reduced_to, methods, repetition=1, loops="bandwidth"):
    return {
        "record": "budget",
        "repetition": repetition,
        "loops": loops,
        "pattern": pattern,
        "message_bytes": length,
        "reduced_to": reduced_to,
        "methods": methods,
        "elapsed_seconds": 100.0,
        "estimate_seconds": 400.0,
    }


def with_budget(reduced_to, kept=("nonblocking",), pattern="random-30", told=True):
    """A full log whose last length of a pattern was reduced in the third repetition."""
    records = logs_made.b_eff_log(
        methods=logs_made.AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst"))
    )
    left_out = [
        record
        for record in loops_of(records, "measurement", pattern)
        if record["message_bytes"] == 8 * MIB and record["repetition"] == 3 and record["method"] not in kept
    ]
    kept_records = [record for record in records if record not in left_out]
    if told:
        kept_records.insert(2, budget(pattern, 8 * MIB, reduced_to, list(kept), repetition=3))
    return logs_made.numbered(kept_records)


def test_a_budget_record_excuses_what_it_names(scored):
    score = scored(with_budget("best_method"))
    assert score.official
    [told] = [q.text for q in score.qualifications if q.key == "budget"]
    assert "1 of 2331 combinations of repetition, pattern" in told and "1 of them in patterns that enter b_eff" in told
    assert score.metrics["b_eff"].value == pytest.approx(
        scored(logs_made.b_eff_log()).metrics["b_eff"].value
    )  # it kept the best


def test_a_repetition_that_was_left_out_makes_the_run_not_official(scored):
    score = scored(with_budget("nothing", kept=()))
    assert not score.official and {"measured_seldom", "budget"} <= {q.key for q in score.qualifications}
    assert scored(with_budget("nothing", kept=(), pattern="worst-cycle")).official


def test_repetitions_must_be_those_of_the_budget_record(scored):
    assert "has 2 of 3 repetitions" in scored(with_budget("nothing", kept=(), told=False))
    assert "has 3 of 2 repetitions" in scored(
        logs_made.numbered(
            [
                *with_budget("nothing", kept=logs_made.AVERAGED, told=False)[:2],
                budget("random-30", 8 * MIB, "nothing", [], repetition=3),
                *with_budget("nothing", kept=logs_made.AVERAGED, told=False)[2:],
            ]
        )
    )


def stopped_log(repetition, pattern):
    """A log whose run was stopped at 64 byte of a pattern in a repetition."""
    records = logs_made.b_eff_log(
        methods=logs_made.AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst"))
    )
    loops = [record for record in records if record["record"] == "measurement"]
    at = next(
        place
        for place, loop in enumerate(loops)
        if (loop["repetition"], loop["pattern"], loop["message_bytes"]) == (repetition, pattern, 64)
    )
    kept = [record for record in records if record["record"] != "measurement" or record in loops[:at]]
    stop = {
        "record": "stop",
        "repetition": repetition,
        "pattern": pattern,
        "message_bytes": 64,
        "elapsed_seconds": 525.0,
    }
    return logs_made.numbered([*kept[:-2], stop, *kept[-2:]])


def test_a_run_that_was_stopped_has_a_score_if_its_averaged_patterns_were_measured(scored):
    score = scored(stopped_log(1, "worst-cycle"))
    assert not score.official and {"measured_seldom", "stopped"} <= set(keys(score))
    assert scored(stopped_log(2, "ring-2")).metrics["b_eff"].value > 0
    message = scored(stopped_log(1, "random-30"))
    assert "15 of 756 combinations" in message and "choose a larger --time-budget" in message


def test_a_budget_that_leaves_no_averaged_method_yields_no_score(scored):
    records = logs_made.b_eff_log(
        methods=("sendrecv", "neighbor"), only=lambda name: name.startswith(("ring", "random"))
    )
    records = [
        r
        for r in records
        if not (r.get("pattern") == "ring-2" and r["message_bytes"] == 4096 and r["method"] == "sendrecv")
    ]
    records[2:2] = [budget("ring-2", 4096, "best_method", ["neighbor"], repetition) for repetition in (1, 2, 3)]
    assert "ring-2 at 4096 byte was measured with none of the averaged methods" in scored(logs_made.numbered(records))


# --- official, and what qualifies a result ----------------------------------------------------------------------------


def test_a_run_by_the_papers_rules_is_official_and_unqualified(full):
    score = score_log(full)
    assert score.official and score.qualifications == ()


def keys(score):
    return [q.key for q in score.qualifications]


@pytest.mark.parametrize(
    ("key", "options", "change"),
    [
        ("repetitions", {"repetitions": 1}, lambda run, plan: None),
        ("methods", {"methods": ("sendrecv", "nonblocking")}, lambda run, plan: None),
        ("first_loop_length", {}, lambda run, plan: plan.update(first_loop_length=10)),
        ("simulated", {}, lambda run, plan: run.update(simulated=True)),
        ("memory_by_option", {}, lambda run, plan: run.update(memory_source="option")),
        (
            "memory_differs",
            {},
            lambda run, plan: [host.update(memory_bytes=2 * host["memory_bytes"]) for host in run["hosts"]],
        ),
        (
            "l_max",
            {},
            lambda run, plan: (
                run.update(memory_per_process_bytes=2 * GIB),
                [host.update(memory_bytes=2 * host["memory_bytes"]) for host in run["hosts"]],
            ),
        ),
    ],
)
def test_a_broken_rule_makes_the_run_not_official_and_is_told(scored, key, options, change):
    records = logs_made.b_eff_log(
        **{"methods": logs_made.AVERAGED, **options}, only=lambda name: name.startswith(("ring", "random"))
    )
    change(records[0], records[1])
    score = scored(records)
    assert not score.official and keys(score) == [key]
    assert score.qualifications[0].text.startswith("Not official: ")


@pytest.mark.parametrize(
    ("key", "says", "change"),
    [
        ("overcommitted", "8 processes shared 4 cores on node01", lambda r: r[0]["hosts"][1].update(cores=4)),
        # 36 hours of processor time in an hour are 36 cores
        (
            "load_of_others",
            "used 36 of 128 cores of node01 and less of 1 more host",
            lambda r: [
                h.update(others_user_seconds=t)
                for h, t in zip(first(r, record="activity")["hosts"], (36000.0, 129600.0))
            ],
        ),
        (
            "load_of_others",
            "used 1.500 of 128 cores of node00,",
            lambda r: first(r, record="activity")["hosts"][0].update(others_user_seconds=5400.0),
        ),
        (
            "stolen",
            "used 2 of 128 cores of node01,",
            lambda r: first(r, record="activity")["hosts"][1].update(stolen_seconds=7200.0),
        ),
        ("activity_unknown", "is not known", lambda r: r.remove(first(r, record="activity"))),
        (
            "over_budget",
            "took 400 s, longer than its time budget of 300 s",
            lambda r: r[-1].update(elapsed_seconds=400.0),
        ),
        ("coarse_clock", "0.1 us", lambda r: [r[2].update(clock_resolution_seconds=1e-7), shorten(r, "ring-1", 1)]),
        ("short_loops", "1 of", lambda r: shorten(r, "ring-2", 64)),
        ("cores_disagree", "from 100 ns on node00 to 201 ns on node01", lambda r: slow_pair(r, 2.01e-7)),
        (
            "partly_checked",
            "50.0% of the received bytes were checked",
            lambda r: r[-2].update(checked_bytes=r[-2]["received_bytes"] // 2),
        ),
    ],
)
def test_what_flatters_or_limits_the_result_is_told(scored, key, says, change):
    records = copy.deepcopy(
        logs_made.b_eff_log(
            ranks=16,
            methods=logs_made.AVERAGED,
            bandwidth=logs_made.steady(2e-5),
            only=lambda name: name.startswith(("ring", "random")),
        )
    )
    records[-2]["received_bytes"] = records[-2]["checked_bytes"] = 10**12
    change(records)
    score = scored(logs_made.numbered(records))
    assert score.official and keys(score) == [key] and says in score.qualifications[0].text


def shorten(records, pattern, length):
    """The first repetition of a loop takes a hundredth of a loop of 1 ms."""
    first(records, record="measurement", pattern=pattern, message_bytes=length).update(
        elapsed_seconds=8e-6, fastest_seconds=8e-6
    )


def test_a_run_on_one_host_is_told_to_have_measured_no_network(scored):
    score = scored(
        logs_made.b_eff_log(nodes=1, methods=logs_made.AVERAGED, only=lambda name: name.startswith(("ring", "random")))
    )
    assert score.official and keys(score) == ["one_host"]


def slow_pair(records, seconds):
    """In the second repetition a pair of processes of the second host takes this long for a round trip of a cache
    line."""
    first(records, record="probe", repetition=2)["hosts"][1] = {
        "shortest_round_trip_seconds": 1e-7,
        "longest_round_trip_seconds": seconds,
    }


def test_probes_that_differ_by_less_than_a_factor_of_two_agree(scored):
    records = logs_made.b_eff_log(methods=("sendrecv",))
    records = copy.deepcopy(records)
    slow_pair(records, 1.99e-7)
    assert "cores_disagree" not in keys(scored(records))


@pytest.mark.parametrize(("slower", "disagree"), [(1.09, False), (1.11, True)])
def test_repetitions_that_differ_by_more_than_a_tenth_qualify_the_result(scored, slower, disagree):
    """All of the second repetition is slower by a factor; b_eff is that of the others."""
    score = scored(
        averaged_log(
            repetitions=3,
            bandwidth=lambda name, method, length, repetition, entry: 1e9 / (slower if repetition == 1 else 1),
        )
    )
    assert score.metrics["b_eff"].value == pytest.approx(1000, rel=1e-12)
    assert ("repetitions_disagree" in keys(score)) == disagree
    if disagree:
        assert "each by itself gives 1000, 900.9, 1000 MByte/s" in next(
            q.text for q in score.qualifications if q.key == "repetitions_disagree"
        )
