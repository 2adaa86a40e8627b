# SPDX-License-Identifier: Apache-2.0
"""What the counters of nodes mean for a result: differences, wrap-around, and what cannot be compared. The answers are
computed by hand."""

import copy
import re

import counters_made as made
import logs_made
import pytest
from builds import ROOT
from counters_made import source, with_counters
from logs_made import KIB, MIB
from logs_made_b_eff import b_eff_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import metadata_case, priomark_log

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.counter_kinds import KINDS
from coffeecup.postprocess.logs.counter_records import CounterSource
from coffeecup.postprocess.logs.counters import changes, difference, not_counted
from coffeecup.postprocess.reports.page import html, items

SECONDS = 100.0
PACKAGE, MEMORY = source("rapl_energy", "0 package-0", made.LARGEST), source("rapl_energy", "0:0 dram", made.LARGEST)
CORE, PSYS = source("rapl_energy", "0:1 core", made.LARGEST), source("rapl_energy", "1 psys", made.LARGEST)
SYMBOLS, DOWN = (source(f"infiniband_{name}", "mlx5_0/1") for name in ("symbol_error", "link_downed"))
IO_LOG = b_eff_io_log(ranks=4, partitions=(2, 4), scheduled=9.0)


@pytest.fixture(scope="module")
def plain():
    """A log of two nodes without counters, of a run that took 200 s."""
    records = b_eff_log(ranks=16, nodes=2, methods=("sendrecv",), repetitions=1)
    for record in (records[-1], logs_made.first(records, record="activity")):
        record["elapsed_seconds"] = 2 * SECONDS
    return records


def scored(tmp_path, records):
    [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))])
    return score


def counted(tmp_path, plain, sources, *values, **options):
    return scored(tmp_path, with_counters(plain, sources, values, seconds=SECONDS, **options))


def keys(score):
    return {qualification.key: qualification.text for qualification in score.qualifications}


def value(score, name):
    metric = score.metrics.get(name)
    return metric and metric.value


# --- one counter ------------------------------------------------------------------------------------------------------


BACKWARDS, NO_NUMBER = "went backwards during the run", "is not a number"
STOPPED = "had stopped at its largest value before the run"
ENERGY, RECEIVED = ("rapl_energy", 1000), ("network_receive_bytes", None)


@pytest.mark.parametrize(
    ("counter", "readings", "expected"),
    [
        (ENERGY, [900, 950], 50),
        (ENERGY, [900, 50, 1], 150),  # 100 to the end of its range, 50 after it
        (ENERGY, [900, 950, 2], 2050),
        (ENERGY, [900, 50], BACKWARDS),  # the kernel did not see it begin again
        (ENERGY, [900, 900], 0),
        (("rapl_energy", None), [900, 50], BACKWARDS),
        (RECEIVED, [900, 899], BACKWARDS),
        (RECEIVED, [900, "absent"], "vanished during the run"),
        (RECEIVED, ["absent", 900], "appeared during the run"),
        (RECEIVED, [900, "unreadable"], NO_NUMBER),
        (RECEIVED, ["unreadable", "unreadable"], NO_NUMBER),
        (RECEIVED, ["forbidden", "forbidden"], "must not be read"),
        (RECEIVED, [65535, 65535], 0),
        (("infiniband_symbol_error", None), [65534, 65535], 1),
        (("infiniband_symbol_error", None), [65535, 65535], STOPPED),
        (("infiniband_link_downed", None), [255, 255], STOPPED),
        (("infiniband_link_downed", None), [254, 254], 0),
    ],
)
def test_difference_between_two_readings(counter, readings, expected):
    name, largest = counter
    known = (expected, "") if isinstance(expected, int) else (None, expected)
    assert difference(CounterSource(name, "", largest), readings) == known


# --- errors -----------------------------------------------------------------------------------------------------------


def test_errors_during_the_run_are_named_with_their_node(tmp_path, plain):
    score = counted(tmp_path, plain, [SYMBOLS, DOWN], [5, 7], [[5, 17], [0, 1]])
    told = "symbol_error of mlx5_0/1 12, link_downed of mlx5_0/1 1 on node01."
    assert keys(score)["port_errors"] == f"Errors on network ports during the run: {told}"


def test_the_node_with_most_errors_comes_first(tmp_path, plain):
    score = counted(tmp_path, plain, [SYMBOLS], [[0, 3]], [[0, 2]])
    assert keys(score)["port_errors"].endswith("symbol_error of mlx5_0/1 3 on node00, and on 1 more host.")


@pytest.mark.parametrize("values", [[[5], [5]], [[0], [255]]])
def test_errors_before_the_run_are_none_of_it(tmp_path, plain, values):
    assert not {"port_errors", "errors_unknown"} & keys(counted(tmp_path, plain, [SYMBOLS], *values)).keys()


@pytest.mark.parametrize("last", [4, "absent", "unreadable"])
def test_errors_that_cannot_be_compared_are_not_taken_for_none(tmp_path, plain, last):
    found = keys(counted(tmp_path, plain, [SYMBOLS], [0], [[5, last]]))
    assert "symbol_error of mlx5_0/1 on node01" in found["errors_unknown"] and "port_errors" not in found


def test_retransmissions_are_no_port_errors(tmp_path, plain):
    found = keys(counted(tmp_path, plain, [source("infiniband_packet_seq_err", "mlx5_0/1")], [[0, 9]], [0]))
    assert found["retransmissions"].endswith("packet_seq_err of mlx5_0/1 9 on node00.") and "port_errors" not in found


def test_traffic_and_forbidden_counters_are_no_qualification(tmp_path, plain):
    before = keys(scored(tmp_path, plain))
    traffic = source("network_receive_bytes", "eth0")
    assert keys(counted(tmp_path, plain, [traffic, SYMBOLS], [[0, 9], "forbidden"], [[9, 0], "forbidden"])) == before


def test_a_temperature_that_falls_is_no_counter(tmp_path, plain):
    score = counted(tmp_path, plain, [source("highest_temperature"), SYMBOLS], [[67000, 41000], 0], [[5, 6], 0])
    assert [change.source.counter for change in changes(score.log)] == ["infiniband_symbol_error"] * 2


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[0], [0]], ""),
        ([[[0, 3]], [0]], ""),  # they were counted: that is another qualification
        ([[0], ["absent"]], "node01 has no counter of port errors that was read"),
        ([[0], ["forbidden"]], "symbol_error of mlx5_0/1 on node01 must not be read"),
        ([[0], [[5, 4]]], "symbol_error of mlx5_0/1 on node01 went backwards during the run"),
    ],
)
def test_no_errors_are_proven_only_if_every_node_counted_them(tmp_path, plain, values, reason):
    score = counted(tmp_path, plain, [SYMBOLS], *values)
    assert not_counted(score.log, "port_errors") == reason


def test_a_log_without_counters_proves_nothing_about_errors(tmp_path, plain):
    found = not_counted(scored(tmp_path, plain).log, "port_errors")
    assert found == "node00 has no counter of port errors that was read"


# --- energy -----------------------------------------------------------------------------------------------------------


def test_energy_is_that_of_packages_and_memory_of_all_nodes(tmp_path, plain):
    """Cores are in their package, and psys is all of it: neither counts again."""
    values = [[0, 9_000_000_000], [0, 1_000_000_000], [0, 5_000_000_000], [0, 19_000_000_000]]
    score = counted(tmp_path, plain, [PACKAGE, MEMORY, CORE, PSYS], values, values)
    moved = logs_made.first(plain, record="data_check")["received_bytes"]
    assert value(score, "energy") == pytest.approx(20_000)
    assert value(score, "power") == pytest.approx(200)
    assert value(score, "energy_per_gbyte") == pytest.approx(20_000 / (moved / 1e9))
    assert "idle_power" not in score.metrics


def test_energy_of_a_counter_that_began_again(tmp_path, plain):
    values = [[made.LARGEST - 2_000_000, 5_000_000, 1]]
    assert value(counted(tmp_path, plain, [PACKAGE], values, [[0, 1_000_000]]), "energy") == pytest.approx(8)


@pytest.mark.parametrize(("watts", "known"), [(999, False), (1001, True)])
def test_energy_is_not_known_if_a_counter_could_begin_again_twice(tmp_path, plain, watts, known):
    """The range is passed at this power in the longest time in which the counter was not read."""
    package = source("rapl_energy", "0 package-0", int(watts * 20 * 1e6))
    score = counted(tmp_path, plain, [package], [[0, 9]], [[0, 9]], longest=20.0)
    assert ("energy" in score.metrics, "energy_unknown" in keys(score)) == (known, not known)


@pytest.mark.parametrize(
    ("sources", "values", "reason"),
    [
        ([PACKAGE], ([[0, 9]], [[0, "absent"]]), "node01"),
        ([PACKAGE], ([[0, 9]], [[0, "unreadable"]]), "node01"),
        ([PACKAGE, MEMORY], ([[0, 9], [0, 9]], [[0, 9], "absent"]), "different parts"),
    ],
)
def test_energy_is_not_known_if_that_of_a_node_is_not_or_nodes_count_different_parts(
    tmp_path, plain, sources, values, reason
):
    score = counted(tmp_path, plain, sources, *values)
    assert "energy" not in score.metrics and reason in keys(score)["energy_unknown"]


def test_energy_that_must_not_be_read_is_no_qualification(tmp_path, plain):
    assert keys(counted(tmp_path, plain, [PACKAGE], ["forbidden"], ["forbidden"])) == keys(scored(tmp_path, plain))


def test_energy_of_cray_is_that_of_the_whole_node(tmp_path, plain):
    cray = [source(f"cray_{name}") for name in ("memory_energy", "startup")]
    records = with_counters(
        plain, [source("cray_energy"), PACKAGE, *cray], [[[100, 600], [0, 9], [0, 50], 7] for _ in "12"]
    )
    records[-3]["absent"] = []
    assert value(scored(tmp_path, records), "energy") == 1000
    records[-3]["hosts"][1]["values"][-1] = [7, 8]
    score = scored(tmp_path, records)
    assert "energy" not in score.metrics and "node01 were restarted" in keys(score)["energy_unknown"]


def test_idle_power_is_that_of_all_nodes(tmp_path, plain):
    records = with_counters(plain, [PACKAGE], [[[0, 9]], [[0, 9]]])
    records = with_counters(records, [PACKAGE], [[[0, 500_000_000]], [[0, 700_000_000]]], phase="idle", seconds=10.0)
    records[0] = records[0] | {"options": records[0]["options"] | {"idle-power": 10.0}}
    assert value(scored(tmp_path, records), "idle_power") == pytest.approx(120)


@pytest.mark.parametrize(
    ("records", "moved"),
    [
        # Two repetitions: the matrix of 64 x 64 elements 8 times, and three quarters of it twice in the exchange.
        (ftio_log(ranks=4, i=4, repetitions=2), 2 * 9.5 * 16 * 64**2),
        # Two cases, in each of which each process moves 1 MiB.
        (priomark_log(benchmarks=("raw",), ranks=4, process_bytes=(MIB,)), 2 * 4 * MIB),
        # 50 files of 8 KiB of each process, each written once and read once.
        (
            priomark_log(
                benchmarks=("raw",), ranks=4, process_bytes=(MIB,), metadata=[metadata_case("own-tree", 50, 8 * KIB)]
            ),
            2 * 4 * MIB + 2 * 4 * 50 * 8192,
        ),
        # By the records of the types, which have the bytes of their patterns together.
        (IO_LOG, sum(record["bytes"] for record in logs_made.of_kind(IO_LOG, "pattern_type"))),
    ],
    ids=["ftio", "priomark", "priomark_metadata", "b_eff_io"],
)
def test_energy_per_gbyte_is_that_of_all_bytes_which_a_benchmark_moves(tmp_path, records, moved):
    """Two nodes take 5 kJ each."""
    counted = with_counters(records, [PACKAGE], [[[0, 5_000_000_000]]] * 2, seconds=1.0)
    assert value(scored(tmp_path, counted), "energy_per_gbyte") == pytest.approx(10_000 / (moved / 1e9), rel=1e-12)


def test_every_benchmark_has_the_metrics_of_energy():
    for benchmark in benchmarks().values():
        assert benchmark.metric("energy_per_gbyte").unit == "J/GByte"


# --- what is not the system's -----------------------------------------------------------------------------------------


def test_counters_of_other_files_than_the_systems_are_not_official(tmp_path, plain):
    assert "counters_root" not in keys(counted(tmp_path, plain, [SYMBOLS], [0], [0]))
    records = with_counters(plain, [SYMBOLS], [[0], [0]])
    records[-3]["hosts"][1]["root"] = "/tmp/made up"
    score = scored(tmp_path, records)
    assert "counters_root" in {breach.key for breach in score.breaches} and not score.official
    assert "of node01 were read below /tmp/made up" in keys(score)["counters_root"]


def test_postprocess_and_page_have_the_same_counters():
    """test_facts.py has the kernel's."""
    page = (ROOT / "docs" / "counter-list.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert KINDS.keys() == {name for row in rows for name in re.findall(r"`(\w+)`", row)}


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_report_shows_what_was_counted_and_nothing_where_nothing_was(tmp_path, plain):
    values = [[0, 9_000_000_000], [0, "unreadable"], 3], [[0, 9_000_000_000], [5, 12017], 0]
    records = with_counters(plain, [PACKAGE, SYMBOLS, DOWN], values, seconds=SECONDS)
    [counters] = [record for record in records if record["record"] == "counters"]
    counters["absent"] = ["cray_energy", *(name for name in KINDS if name.startswith("edac_"))]
    page = html(items([logs_made.write(tmp_path / "counted.jsonl", logs_made.numbered(records))]))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
    assert "The energy that was counted (processors) was 18 000 J." in text
    assert "energy of all nodes, from opening the log to its end 18 000 J" in text
    assert "infiniband_symbol_error errors 12 012 12 012 on node01 mlx5_0/1 1 value: is not a number" in text
    assert "Counted nothing on any node: infiniband_link_downed." in text
    assert "No node has: cray_energy, edac (all 2)." in text
    simulation = copy.deepcopy(plain)
    logs_made.simulated(simulation)
    assert "What the nodes counted" not in html(items([logs_made.write(tmp_path / "plain.jsonl", simulation)]))
