# SPDX-License-Identifier: Apache-2.0
"""What b_eff's part of the report says beside the number: noise inside the run, copies in memory, methods of grids, the
groups of the paper's Table 1, and lines of one system and placement only."""

import re
from types import SimpleNamespace

import evidence_made
import logs_made
import msgspec
import pytest
import spread_of_runs
from commands import run
from logs_made import MIB, of_kind
from logs_made_b_eff import AVERAGED, REPORTED, averaged_log, b_eff_log, lengths, patterns, steady

from coffeecup.postprocess.benchmarks.b_eff.figures import over_sizes
from coffeecup.postprocess.benchmarks.b_eff.noise.qualifications import same_messages
from coffeecup.postprocess.benchmarks.b_eff.records import Pattern
from coffeecup.postprocess.benchmarks.b_eff.reduction import measurement_table
from coffeecup.postprocess.benchmarks.b_eff.section import grids, meaning_of_ratio
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.reports import page as report


def read(tmp_path, records):
    return read_log(logs_made.write(tmp_path / "log.jsonl", records))


# --- noise inside the run ---------------------------------------------------------------------------------------------

RINGS, EVERY = [f"ring-{k}" for k in range(1, 7)], 36


@pytest.mark.parametrize(
    ("ranks", "same"),
    [(2, EVERY), (3, EVERY), (5, RINGS[1:]), (7, RINGS[2:]), (16, RINGS[3:]), (32, RINGS[4:]), (128, []), (512, [])],
)
def test_patterns_of_the_same_rings_are_the_same_messages(ranks, same):
    """By the specification's table of rings; of four processes on, random orders are other rings."""
    planned = [msgspec.convert(entry, Pattern) for entry in patterns(ranks, AVERAGED)]
    found = same_messages(planned)
    assert (len(found) if same == EVERY else found) == same


def with_faster(pattern, factor):
    usual = steady()
    return lambda name, *loop: usual(name, *loop) * (factor if name == pattern else 1)


@pytest.mark.parametrize(("pattern", "factor", "said"), [("ring-6", 1.099, 0), ("ring-6", 1.101, 1), ("ring-1", 2, 0)])
def test_same_messages_that_differ_are_noise_and_no_interval(scored, pattern, factor, said):
    """Of five processes, the rings of patterns 2 to 6 are the same, that of pattern 1 is another one."""
    score = scored(averaged_log(ranks=5, bandwidth=with_faster(pattern, factor)))
    texts = [q.text for q in score.qualifications if q.key == "noisy"]
    assert len(texts) == said
    for text in texts:
        assert f"MByte/s, is {factor:.2f} times the smallest one" in text
        assert "5 of 36 averaged patterns" in text and "not an interval of b_eff" in text


@pytest.mark.parametrize(
    ("ranks", "nodes", "meaning"),
    [(2, 2, "only noise"), (3, 1, "only noise"), (16, 1, "nothing about a network"), (16, 2, "placement of processes")],
)
def test_ratio_of_random_order_to_rings_means_placement_only_where_it_can(tmp_path, ranks, nodes, meaning):
    assert meaning in meaning_of_ratio(read(tmp_path, averaged_log(ranks=ranks, nodes=nodes)))


# --- copies in memory -------------------------------------------------------------------------------------------------


def beside_copies(scored, nodes, share):
    """The score of a run whose b_eff at L_max per process is this share of the copies of the second of two
    repetitions; in the first one they take twice as long."""
    records = averaged_log(nodes=nodes, repetitions=2)
    value = 1e6 * scored(records).metrics["b_eff_at_l_max_per_process"].value
    for copy, slower in zip(of_kind(records, "memory_copy"), (2, 1), strict=True):
        copy["seconds"] = nodes * [slower * 4 * MIB / (value / share)]
    return scored(records)


def slower_than_copies(score):
    return [q.text for q in score.qualifications if q.key == "slower_than_copies"]


def test_messages_that_cost_more_than_two_copies_are_told_on_one_node(scored):
    assert slower_than_copies(beside_copies(scored, 1, 0.5 * (1 + 1e-6))) == []
    [text] = slower_than_copies(beside_copies(scored, 1, 0.5 * (1 - 1e-6)))
    low, high, value = map(float, re.search(r"between ([\d.]+) and ([\d.]+) MByte/s. It is ([\d.]+),", text).groups())
    assert (high / low, value / low) == (pytest.approx(2, rel=2e-3), pytest.approx(1, rel=2e-3))
    assert slower_than_copies(beside_copies(scored, 2, 0.1)) == []


@pytest.mark.parametrize(("share", "where"), [(0.49, "below"), (0.51, "within"), (0.99, "within"), (1.01, "above")])
def test_report_states_the_band_of_messages_inside_a_node(scored, share, where):
    [item] = report.items([beside_copies(scored, 1, share).log.path])
    assert f", {where} this band" in " ".join(item.section["inside"])


def test_page_of_a_run_on_one_node_shows_what_its_values_mean_there(tmp_path):
    page = report.html(report.items([logs_made.write(tmp_path / "log.jsonl", averaged_log(nodes=1))]))
    assert page.count(" this band") == page.count("nothing about a network") == 1
    assert "placement of processes matters" not in page


def test_spread_of_runs_needs_no_ping_pong(tmp_path, monkeypatch, capsys):
    records = averaged_log(only=lambda name: name.startswith(("ring", "random")))
    paths = [logs_made.write(tmp_path / name, records) for name in ("a.jsonl", "b.jsonl")]
    monkeypatch.setattr("sys.argv", ["spread_of_runs.py", *map(str, paths)])
    spread_of_runs.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("b_eff: 0%, ") and printed[1] == "ping_pong_latency: not measured"


# --- grids ------------------------------------------------------------------------------------------------------------


def test_grids_are_shown_by_method_and_collective_beside_other_ones(tmp_path):
    log = read(tmp_path, b_eff_log())
    table = measurement_table([log])
    [row] = [row for row in grids(log, table) if row["name"] == "cartesian-2d-all"]
    entry = {"messages_per_exchange": 4 * 16}

    def best(method, length):
        return max(steady()("cartesian-2d-all", method, length, r, entry) for r in range(3)) / 1e6

    every = lengths(8 * MIB)
    by_hand = {method: sum(best(method, length) for length in every) / 21 for method in AVERAGED + REPORTED}
    assert row["values"] == pytest.approx(by_hand)
    assert row["ratio"] == pytest.approx(by_hand["neighbor"] / by_hand["persistent"])
    directions = ["2d-x", "2d-y", "2d-all", "3d-x", "3d-y", "3d-z", "3d-all"]
    assert {row["name"] for row in grids(log, table)} == {f"cartesian-{which}" for which in directions}
    gap = (table["pattern"] == "cartesian-2d-all") & (table["method"] == "neighbor") & (table["message_bytes"] == 64)
    [row] = [row for row in grids(log, table[~gap]) if row["name"] == "cartesian-2d-all"]
    assert "neighbor" not in row["values"]
    assert row["ratio"] == pytest.approx(by_hand["alltoallv"] / by_hand["persistent"])
    assert grids(log, table[table["averaged"]]) == []


# --- the paper's Table 1 ----------------------------------------------------------------------------------------------


def test_published_systems_are_grouped_as_in_the_papers_table_1(tmp_path):
    table = published("b_eff")
    shared = set(table.loc[table["memory"] == "shared", "system"])
    assert shared == {"NEC SX-5/8B", "NEC SX-4/32", "HP-V 9000", "SGI Cray SV1-B/16-8"}
    assert set(table.loc[~table["system"].isin(shared), "memory"]) == {"distributed"}
    page = report.html(report.items([logs_made.write(tmp_path / "log.jsonl", averaged_log())]))
    places = [page.index(text) for text in ("Distributed memory", "Cray T3E", "SR 2201", "Shared memory", "NEC SX-5")]
    assert places == sorted(places) and page.count("Shared memory") == 1


def test_times_to_communicate_the_total_memory_are_those_of_section_2_2():
    """Memory is 128 L_max per processor; 3.29 s were printed as 3.2."""
    table = published("b_eff").set_index(["system", "processes", "metric"])["value"].sort_index()
    printed = table.xs("time_to_communicate_total_memory", level="metric").to_dict()
    assert printed == {("Cray T3E/900-512", 512): 3.2, ("Hitachi SR 8000 sequential", 24): 13.6}
    for (system, processes), seconds in printed.items():
        of = table.loc[system, processes]
        assert seconds == pytest.approx(processes * 128 * of["l_max"] / of["b_eff"], rel=0.03)


# --- the balance factor in a contract ---------------------------------------------------------------------------------

BOUNDS = """\
contract: Balance
version: 1
clauses:
  - {clause: balance, benchmark: b_eff, metric: balance_factor, unit: byte/flop, floor: 0.000001, SHARED}
  - {clause: linpack, benchmark: b_eff, metric: r_max, unit: Gflop/s, floor: 250, ceiling: 250, SHARED}
"""
SHARED = "system: local, partition: default, official: true, size: {processes: 16}, repetitions: 1, statistic: median"


@pytest.mark.parametrize(("of_node", "code"), [("125", 0), ("12.5", 1), ("", 1)])
def test_a_contract_bounds_the_balance_factor_and_the_r_max_that_it_takes(tmp_path, of_node, code):
    """The run has two nodes. With a tenth of R_max, the balance factor is ten times as high."""
    agreed = tmp_path / "contract.yaml"
    agreed.write_text(BOUNDS.replace("SHARED", SHARED))
    session = evidence_made.evidence(tmp_path, agreed, environment={"COFFEECUP_ASKED": f"r_max_per_node={of_node}"})
    done = run("accept", agreed, session, "-o", tmp_path / "acceptance.html")
    assert done.exit_code == code, done.output


# --- the figure over the sizes ----------------------------------------------------------------------------------------


def run_of(hosts, value, official=True, asked=""):
    """A score of which over_sizes needs no more."""
    named = [SimpleNamespace(name=name, ranks=ranks) for name, ranks in hosts.items()]
    ranks = sum(len(host.ranks) for host in named)
    run = SimpleNamespace(ranks=ranks, hosts=named, simulated=False, environment={"COFFEECUP_ASKED": asked})
    end, plan = SimpleNamespace(elapsed_seconds=100.0), SimpleNamespace(time_budget_seconds=240.0)
    log = SimpleNamespace(run=run, end=end, plan=plan)
    metrics = dict.fromkeys(("b_eff", "b_eff_per_process"), SimpleNamespace(value=value))
    return SimpleNamespace(log=log, metrics=metrics, official=official, simulated_machine="")


def in_blocks(name, nodes):
    return {f"{name}{node}": list(range(4 * node, 4 * node + 4)) for node in range(nodes)}


def in_turn(name, nodes):
    return {f"{name}{node}": list(range(node, 4 * nodes, nodes)) for node in range(nodes)}


def test_lines_join_runs_on_one_system_partition_and_placement():
    of_partition = "partition=site:fat"
    runs = [
        *(run_of(in_blocks("a", nodes), nodes) for nodes in (1, 2, 4)),
        *(run_of(in_turn("a", nodes), 10 * nodes) for nodes in (2, 4)),
        *(run_of(in_blocks("b", nodes), 100 * nodes) for nodes in (2, 4)),
        *(run_of(in_blocks("b", nodes), 1000 * nodes, asked=of_partition) for nodes in (2, 4)),
        run_of({f"a{node}": [node] for node in range(4)}, 7),
        run_of(in_blocks("a", 2), 3, official=False),
        run_of({"a0": [0, 1, 4, 5], "a1": [2, 3, 6, 7]}, 5),
        run_of({"a0": [0, 2], "a1": [1, 3, 4]}, 6),
    ]
    lines = {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()), line.get_linestyle())
        for line in over_sizes(runs).canvas.axes[0].lines
    }
    assert lines == {
        "official, a*, block": ([4, 8, 16], [1, 2, 4], "-"),
        "official, a*, round robin": ([8, 16], [20, 40], "-"),
        "official, b*, block": ([8, 16], [200, 400], "-"),
        "official, site:fat, block": ([8, 16], [2000, 4000], "-"),
        "official, a*, a process on each node": ([4], [7], "-"),
        "official, a*, another placement": ([5, 8], [6, 5], "-"),
        "not official, a*, block": ([8], [3], "None"),
    }
