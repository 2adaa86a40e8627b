# SPDX-License-Identifier: Apache-2.0
"""The reductions of b_eff_io against known answers: a published run of release 2.1, tables made by hand, and closed
forms."""

import math

import logs_made
import pytest
from logs_made_b_eff_io import GIB, KIB, METHODS, MIB, TYPES, b_eff_io_log
from scores import keys, values

from coffeecup.postprocess.benchmarks.b_eff_io.definition import m_part_rule, patterns_rule
from coffeecup.postprocess.benchmarks.b_eff_io.section import compared_with_published
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.reports.page import html, items

# Type totals of one public run of release 2.1, in MByte/s, and its value.
PUBLISHED = {
    "write": dict(zip(TYPES, (58.579, 48.697, 77.944, 77.036, 73.113))),
    "rewrite": dict(zip(TYPES, (63.841, math.nan, math.nan, math.nan, math.nan))),
    "read": dict(zip(TYPES, (300.390, 811.358, 1073.572, 1088.574, 575.428))),
}
PUBLISHED_2_1 = 214.516

# Made by hand; the values below were worked out with a pencil.
BY_HAND = {
    "write": dict(zip(TYPES, (60, 30, 90, 60, 60))),  # (2*60 + 30 + 90 + 60 + 60) / 6 = 60
    "rewrite": dict(zip(TYPES, (120, 60, 120, 120, 60))),  # (240 + 60 + 120 + 120 + 60) / 6 = 100
    "read": dict(zip(TYPES, (240, 120, 300, 180, 120))),  # (480 + 120 + 300 + 180 + 120) / 6 = 200
}


def mbyte(table, factor=lambda partition: 1.0):
    return lambda partition, method, name: 1e6 * factor(partition) * table[method][name]


def changed(records, kind, /, place=0, **fields):
    number = [number for number, record in enumerate(records) if record["record"] == kind][place]
    return [{**record, **fields} if at == number else record for at, record in enumerate(records)]


def test_formula_2_1_gives_the_published_value(scored):
    score = scored(b_eff_io_log(mbyte(PUBLISHED), form="top-clusters", scheduled=600.0))
    assert score.headline[0] == "b_eff_io_2_1"
    assert score.headline[1].value == pytest.approx(PUBLISHED_2_1, abs=0.01)


def test_table_made_by_hand(scored):
    found = values(scored(b_eff_io_log(mbyte(BY_HAND), partitions=(8,))))
    assert [found[method] for method in METHODS] == pytest.approx([60, 100, 200])
    assert found["b_eff_io"] == pytest.approx(0.25 * 60 + 0.25 * 100 + 0.5 * 200)
    # W = (60 + 120 + 30 + 90 + 60 + 60) / 6 = 70, R = 200
    assert found["b_eff_io_2_1"] == pytest.approx(math.sqrt(70 * 200))
    assert found["scatter"] == pytest.approx(0.25 * 60 + 0.25 * 120 + 0.5 * 240)


def test_a_run_through_an_interface_has_the_means_of_three_types_and_no_b_eff_io(scored):
    """Of all 8 processes, whatever fewer reach: (2 * 60 + 60 + 60) / 4 = 60, (240 + 120 + 60) / 4 = 105,
    (480 + 180 + 120) / 4 = 195."""
    rates = mbyte(BY_HAND, lambda partition: 16 / partition)
    score = scored(b_eff_io_log(rates, partitions=(4, 8), interface="hdf5"))
    means = [60, 105, 195]
    of_types = [
        0.25 * 60 + 0.25 * 120 + 0.5 * 240,
        0.25 * 60 + 0.25 * 120 + 0.5 * 180,
        0.25 * 60 + 0.25 * 60 + 0.5 * 120,
    ]
    names = ["bandwidth", *METHODS, "scatter", "segmented", "segmented_collective"]
    bandwidth = 0.25 * 60 + 0.25 * 105 + 0.5 * 195
    expected = dict(zip([f"library_{name}" for name in names], [2 * one for one in [bandwidth, *means, *of_types]]))
    assert values(score) == pytest.approx(expected) and [breach.key for breach in score.breaches] == ["interface"]
    assert "interface hdf5 (hdf5, SHA-256 3f3f3f3f3f3f3f3f...; hdf5-coll" in score.breaches[0].text
    page = html(items([score.log.path]))
    assert "Files of b_eff_io through hdf5 by 4, 8 processes" in page and "HDF5 1.14" in page
    assert "This is no b_eff_io" in page and "Compared with published systems" not in page


def test_release_0_5_is_all_bytes_over_all_time_where_patterns_keep_their_time(scored):
    """With sizes that fit the schedule, the weighting by U changes nothing: compare with plain sums over the raw
    records."""
    alone = {"partitions": (1,), "ranks": 1, "nodes": 1, "node_memory": GIB}
    rates = mbyte({method: dict.fromkeys(TYPES, 80.0) for method in METHODS})
    records = b_eff_io_log(rates, **alone, scheduled=90000.0, overhead_share=0.0)
    moved = sum(r["bytes"] for r in records if r["record"] == "measurement")
    taken = sum(r["elapsed_seconds"] for r in records if r["record"] == "measurement")
    assert values(scored(records))["b_eff_io_0_5"] == pytest.approx(moved / taken / 1e6)


def test_release_0_5_weights_by_units(scored):
    """Every type has one rate, so the weighted mean is sum of U * rate / 64, with U = 22, 12, 10, 10, 10; averaged over
    the methods."""
    records = b_eff_io_log(mbyte(BY_HAND), partitions=(4,), overhead_share=0.0)
    expected = sum(
        units * BY_HAND[method][name] for method in METHODS for name, units in zip(TYPES, (22, 12, 10, 10, 10))
    ) / (3 * 64)
    assert values(scored(records))["b_eff_io_0_5"] == pytest.approx(expected)


def test_system_value_is_the_largest_partition_and_its_parts_are_those_of_that_partition(scored):
    found = values(scored(b_eff_io_log(mbyte(BY_HAND, lambda partition: {2: 0.5, 4: 1.0, 8: 0.75}[partition]))))
    assert found["best_partition"] == 4
    assert found["write"] == pytest.approx(60) and found["b_eff_io"] == pytest.approx(140)


def test_type_value_counts_from_opening_to_closing(scored):
    """Half of the time in opening and closing halves the bandwidth of the type, whatever its patterns reach."""
    slow = b_eff_io_log(lambda *_: 1e8, partitions=(8,), overhead_share=0.5)
    assert values(scored(slow))["write"] == pytest.approx(100)
    assert values(scored(slow))["b_eff_io_0_5"] == pytest.approx(200)


def test_coffee_cup_rule(scored):
    """128 GiB of memory at 100 MByte/s take 128 * 1.073741824 * 10 s."""
    found = values(scored(b_eff_io_log(partitions=(8,))))
    assert found["memory_write_time"] == pytest.approx(128 * 1.073741824 * 10 / 60)
    assert found["memory_read_time"] == pytest.approx(found["memory_write_time"])


def test_written_share_is_of_the_memory_of_all_nodes(scored):
    """Two nodes of 64 GiB; the bytes of the initial write as the log states them."""
    records = b_eff_io_log(partitions=(8,))
    written = sum(r["bytes"] for r in records if r["record"] == "measurement" and r["method"] == "write")
    assert values(scored(records))["written_share_of_memory"] == pytest.approx(written / (128 * GIB))


def test_official_run_has_no_breach(scored):
    score = scored(b_eff_io_log(lambda *_: 1e10, cache=GIB))
    assert score.official and keys(score) == ["cache_by_option", "partly_checked"]


def test_top_clusters_form_is_official_with_600_seconds_for_each_of_three(scored):
    score = scored(b_eff_io_log(form="top-clusters", scheduled=600.0, cache=MIB))
    assert score.official and "b_eff_io" not in score.metrics and "top_clusters" in keys(score)


def with_memory_by_option(records):
    records[0]["memory_source"] = "option"
    records[0]["options"]["memory-per-process"] = records[0]["memory_per_process_bytes"]


def test_memory_by_option_is_a_breach(scored):
    records = b_eff_io_log()
    with_memory_by_option(records)
    score = scored(records)
    assert not score.official and "memory_by_option" in keys(score)


def test_pattern_that_used_its_space_makes_the_run_not_official(scored):
    """100 MByte/s for 300 s are 30 GB; one call of each pattern takes 22 GB, and a limit of 24 GB ends each early."""
    score = scored(b_eff_io_log(partitions=(8,), space_limit=24 * 10**9))
    assert not score.official and "space_limit" in keys(score)


def test_overrun_makes_the_run_not_official(scored):
    """A read of type 3 that left out all calls but one of each process."""
    records = changed(b_eff_io_log(partitions=(8,)), "end")
    cut = next(r for r in records if r.get("pattern") == 31 and r["method"] == "read")
    left_out = cut["bytes"] - 8 * cut["call_bytes"]
    kept = max(1, 4099 * 4096 // cut["call_bytes"])
    unchecked = 8 * cut["call_bytes"] * (min(cut["calls_min"], kept) - 1)
    logs_made.first(records, record="process_times", pattern=31, method="read")["calls"] = [1] * 8
    cut |= {"calls_min": 1, "calls_max": 1, "calls_sum": 8, "bytes": 8 * cut["call_bytes"], "ended_by": "overrun"}
    [of_type] = [
        r for r in records if r["record"] == "pattern_type" and (r["type"], r["method"]) == ("segmented", "read")
    ]
    of_type["bytes"] -= left_out
    [check] = [r for r in records if r["record"] == "data_check"]
    check |= {"read_bytes": check["read_bytes"] - left_out, "checked_bytes": check["checked_bytes"] - unchecked}
    score = scored(records)
    assert not score.official and "overrun" in keys(score)


def test_variant_is_marked(scored):
    assert "individual_pointers" in keys(scored(changed(b_eff_io_log(), "plan", file_pointers="individual")))
    records = changed(b_eff_io_log(), "plan", termination="per-access")
    for record in records:
        if record.get("agreements"):
            record["agreements"] = record["calls_max"] + 1
    assert "per_access" in keys(scored(records))


def evicting(records, share):
    """Each file that is read kept this share of its bytes in a cache."""
    records = changed(records, "plan", evict=True)
    return [
        {**r, "cached_bytes": int(share * (r["file_bytes"] // r["files"]))}
        if r["record"] == "pattern_type" and r["method"] == "read"
        else r
        for r in records
    ]


@pytest.mark.parametrize(
    ("share", "key"), [(0.0, "evicted"), (0.009, "evicted"), (0.011, "not_evicted"), (1.0, "not_evicted")]
)
def test_eviction_is_stated_as_it_was(scored, share, key):
    found = keys(scored(evicting(b_eff_io_log(), share)))
    assert key in found and len({"evicted", "not_evicted"} & set(found)) == 1


def test_full_segment_needs_no_fill_up(scored):
    """With an alignment of 8 bytes, of which all chunks are multiples, nothing is left to fill."""
    records = b_eff_io_log(partitions=(8,), alignment=8)
    assert not [r for r in records if r["record"] == "measurement" and r["pattern"] in (33, 42)]
    assert isinstance(scored(records), Score)


def test_patterns_are_those_of_the_paper():
    rows = patterns_rule(8 * MIB)
    random, rows = rows[43:], rows[:43]
    assert {name for name, *_ in random} == {"random", "random-collective"}
    assert sum(units for *_, units in rows) == 64 and sum(units > 0 for *_, units in rows) == 36
    assert {name: sum(units for other, *_, units in rows if other == name) for name in TYPES} == dict(
        zip(TYPES, (22, 12, 10, 10, 10))
    )
    assert rows[6] == ("scatter", 32 * KIB + 8, MIB + 256, 2) and rows[10] == ("shared", 8 * MIB, 8 * MIB, 4)
    assert rows[18][3] == rows[26][3] == rows[35][3] == 2 and rows[33] == ("segmented", None, None, 0)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(MIB, 2 * MIB), (256 * MIB, 2 * MIB), (GIB, 8 * MIB), (GIB + 1, 8 * MIB), (128 * GIB, GIB), (1024 * GIB, GIB)],
)
def test_m_part(memory, expected):
    assert m_part_rule(memory) == expected


def test_every_metric_is_there_unless_optional(scored):
    assert list(scored(b_eff_io_log()).metrics) == list(benchmarks()["b_eff_io"].units)
    top = scored(b_eff_io_log(form="top-clusters", scheduled=600.0))
    assert set(benchmarks()["b_eff_io"].units) - set(top.metrics) == benchmarks()["b_eff_io"].optional_metrics


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "logs"), [({"form": "top-clusters", "scheduled": 600.0}, 1), ({"partitions": (8,)}, 2)]
)
def test_report_shows_values_patterns_and_published_systems(tmp_path, options, logs):
    log = logs_made.write(tmp_path / "b_eff_io.jsonl", b_eff_io_log(mbyte(BY_HAND), **options))
    page = html(items([log] * logs))
    assert "Cray T3E900-512" in page and "All" in page and "Coffee-cup rule" in page and "pseudo" not in page
    assert page.count("<svg") >= 2 * logs - 1  # one for each, and one over all


def test_published_values_of_the_papers_stand_below_those_of_the_run(scored):
    """The papers' values, typed from their text: section 5.2 and figure 3; of release 0.5, section V."""
    rows = compared_with_published(8, values(scored(b_eff_io_log(mbyte(BY_HAND)))))
    printed = {
        (row["system"].split()[0], row["processes"], row["quantity"], row["value"]) for row in rows if row["system"]
    }
    assert printed == {
        ("IBM", 128, "b_eff_io, release 1.x", 63),
        ("Cray", 32, "b_eff_io, release 1.x", 57),
        ("Hitachi", 16, "b_eff_io, release 1.x", 41),
        ("NEC", 4, "b_eff_io, another release", 60),  # "except on NEC SX-5, we have used releases 1.x"
        ("IBM", 128, "b_eff_io, release 0.5", 311),
        ("Cray", 32, "b_eff_io, release 0.5", 71),
        ("IBM", 128, "read / initial write", 10),
        ("IBM", 128, "read / rewrite", 10),
        ("Cray", 32, "read / initial write", 5),
        ("Cray", 32, "read / rewrite", 2.7),
        ("Cray", 32, "data of an access method", 4.5),
        ("Cray", 32, "data of an access method", 12.4),
        ("IBM", 128, "largest bandwidth of reads", 950),
        ("IBM", 64, "largest bandwidth of writes", 690),
    }
    assert len(published("b_eff_io")) == len(printed)  # none is left out
    own = {row["quantity"]: (row["value"], row["unit"]) for row in rows if not row["system"]}
    assert own["read / initial write"] == (pytest.approx(200 / 60), "1")
    assert own["read / rewrite"] == (pytest.approx(200 / 100), "1")
    assert own["b_eff_io, release 1.x"] == (pytest.approx(140), "MByte/s") and len(own) == 4


def test_report_shows_what_a_node_writes_in_each_pattern(tmp_path):
    """M(n, T, U) of the paper on release 0.5: b_real U / (3 sum U) T / n, here 128 * 10^6 byte/s for 900 s."""
    records = b_eff_io_log(lambda partition, *_: 128e6, partitions=(4, 8), ranks=8, nodes=2, overhead_share=0.0)
    [item] = items([logs_made.write(tmp_path / "b_eff_io.jsonl", records)])
    rows = {(row["partition"], row["pattern"]): row["node"] for row in item.section["patterns"]}
    # Pattern 3, U = 4: 2.4 * 10^9 byte, 572 calls of 1 MiB of 4 processes; the first 4 are on one node.
    assert rows[4, 3] == "2.23 GiB" and rows[8, 3] == "1.12 GiB"
    assert rows[8, 5] == "572 MiB"  # U = 2
