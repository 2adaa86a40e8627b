# SPDX-License-Identifier: Apache-2.0
"""The slow node of a log of b_eff is named in score, report and table, confirmed by what was measured again, and kept
where the log has no score. test_nodes.py has the estimate by itself."""

import json
import pickle
import re
from math import comb, nan

import logs_made
import numpy as np
import pandas as pd
import pytest
from builds import ROOT
from commands import run
from edits import option, put
from logs_made_b_eff import averaged_log
from logs_made_nodes import matched_log

from coffeecup.postprocess.benchmarks import node_figures, nodes
from coffeecup.postprocess.benchmarks.b_eff.nodes import matchings as matchings_of_b_eff
from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import time_of
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Confirmation
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import score_log, score_logs
from coffeecup.postprocess.statistics.medians import upper_limit
from coffeecup.postprocess.statistics.nodes import SLOWER, UNSURE


def fourth(speed):
    """Speeds of sixteen nodes, of which the fourth is not 1."""
    return [1, 1, 1, speed, *[1] * 12]


SUSPECT = [{"node": 3, "ratio": 1.6, "good": [0, 1]}]


def logged(folder, *of_log, **options):
    return logs_made.write(folder / "b_eff.jsonl", matched_log(*of_log, **options))


@pytest.fixture(scope="module")
def slow_log(tmp_path_factory):
    return logged(tmp_path_factory.mktemp("log"), fourth(0.6))


def test_the_score_of_a_log_names_its_slow_node(slow_log):
    score = score_log(slow_log)
    slow = score.log.run.hosts[3].name
    assert list(score.nodes.named["node"]) == [slow]
    assert score.nodes.named["ratio"].iloc[0] == pytest.approx(0.6, rel=0.01)
    [text] = [qualification.text for qualification in score.qualifications if qualification.key == "slow_nodes"]
    assert text.startswith(f"Slow node suspected: {slow}: 0.60 of its peers [0.60, 0.60], slow in 16 of 16 matchings")
    printed = json.loads(run("score", slow_log, "--json").stdout)[0]["nodes"]
    assert printed["verdict"] == "suspects" and printed["nodes"][0]["node"] == slow and len(printed["nodes"]) == 16


@pytest.mark.slow
def test_the_report_shows_the_nodes_with_a_figure_of_them(slow_log, tmp_path):
    assert run("report", slow_log, "-o", tmp_path / "slow.html", "--figures", tmp_path).exit_code == 0
    page = (tmp_path / "slow.html").read_text()
    [section] = [part for part in re.split("<h[23]", page) if part.partition(">")[2].startswith("Nodes</h3>")]
    for text in ("1 of 16 nodes suspected", "<code>coffeecup nodes</code>", "Nodes by their speed"):
        assert text in section and page.count(text) == 1
    table = pd.read_csv(tmp_path / "b_eff-nodes.csv")
    assert len(table) == 16 and table["suspect"].sum() == 1
    assert run("report", logged(tmp_path, fourth(1)), "-o", tmp_path / "sound.html").exit_code == 0
    page = (tmp_path / "sound.html").read_text()
    assert "None of 16 nodes is suspected" in page and "Nodes by their speed" not in page


def test_a_log_without_matchings_is_not_examined(tmp_path):
    score = score_log(logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=16, nodes=16)))
    assert score.nodes.verdict == Verdict.NOT_EXAMINED and "--matchings 0" in score.nodes.remarks[0]


def test_a_suspect_that_is_slow_alone_with_good_nodes_is_confirmed(tmp_path):
    found = score_log(logged(tmp_path, fourth(0.6), SUSPECT))
    slow = found.log.run.hosts[3].name
    assert found.nodes.verdict == Verdict.CONFIRMED and nodes.stored(found.nodes)["confirmed"] == [slow]
    [(_, text)] = nodes.qualifications(found.nodes)
    assert text.startswith(f"Slow node confirmed: {slow}: 0.60") and text.endswith("16 of 16 matchings, confirmed")


@pytest.mark.parametrize(("speed", "confirmed"), [(0.94, True), (0.96, False)])
def test_a_suspect_is_confirmed_below_95_percent_of_good_nodes(tmp_path, speed, confirmed):
    found = score_log(logged(tmp_path, fourth(0.6), SUSPECT, fourth(speed))).nodes
    assert found.verdict == (Verdict.CONFIRMED if confirmed else Verdict.SUSPECTS)
    denied = [remark for remark in found.remarks if "did not confirm" in remark]
    assert len(denied) == (not confirmed) and all("up to 0.96 of good nodes" in remark for remark in denied)


@pytest.mark.parametrize(("own", "partner", "ratio"), [(1.25, 1.0, 0.8), (1.0, 1.25, 0.8), (1.04, 1.0, 1 / 1.04)])
def test_a_suspect_that_is_slow_in_one_direction_has_the_time_of_the_slower_process(own, partner, ratio):
    """Of two processes on each node one pair has these times, the other one the same: both count by their slower
    process. A third process of the second node rests."""
    pairs = {(3, 0): (own, partner), (3, 1): (own, partner), (0, 1): (1.0, 1.0)}
    records = [
        Confirmation(0, 3, repetition, "all", list(pair), 1000, 3, [first, first, second, second, None])
        for repetition in range(1, 7)
        for pair, (first, second) in pairs.items()
    ]
    [good] = {time_of(record) for record in records if 3 not in record.pair}
    [slow] = {time_of(record) for record in records if 3 in record.pair}
    assert good / slow == pytest.approx(ratio)


def test_what_the_kernel_measured_again_accuses_nobody_by_itself(tmp_path):
    """The matchings are those of healthy nodes."""
    found = score_log(logged(tmp_path, fourth(1), SUSPECT, fourth(0.5))).nodes
    assert found.verdict == Verdict.NONE and found.named.empty


@pytest.mark.parametrize(
    ("slow", "fast", "reached"), [(5, 0, nan), (6, 0, 0.8), (8, 1, 1.0), (9, 1, 0.8), (10, 2, 1.0), (11, 2, 0.8)]
)
def test_most_rounds_must_be_slow(slow, fast, reached):
    """Heads in 6 of 6, 9 of 10 or 11 of 13 throws: 1/64, 11/1024 and 92/8192, of 8 of 9 and 10 of 12 more than 1/64."""
    assert upper_limit(np.array([1.0] * fast + [0.8] * slow), UNSURE) == pytest.approx(reached, nan_ok=True)


def test_the_kernel_ends_the_rounds_when_they_decide():
    """The more of them were fast, the more are needed: a coin shows as few heads in at most a 64th of all cases."""
    source = (ROOT / "kernels/b_eff/nodes/confirmation.c").read_text()
    needed = [int(number) for number in re.search(r"needed\[\] = \{(.*)\}", source)[1].split(",")]
    few = [
        [sum(comb(rounds, k) for k in range(fast + 1)) * 64 <= 2**rounds for rounds in range(40)] for fast in range(10)
    ]
    assert needed == [decided.index(True, fast + 1) for fast, decided in enumerate(few)]
    assert float(re.search(r"slower = (.*);", source)[1]) == SLOWER and UNSURE == 1 / 64


@pytest.mark.slow
def test_pairs_of_a_run_have_their_bandwidth_in_the_matrix(tmp_path):
    """By hand: a pair moves two messages in each of 3 exchanges; in 2 ms these are 3000 times L_max in a second."""
    nodes_, rounds = 16, 15
    records = matched_log([1] * nodes_)
    place = next(number for number, record in enumerate(records) if record["record"] == "data_check")
    plan = records[1]
    l_max = plan["l_max_bytes"]
    plan["matchings"]["all_pairs"] = True
    loop = {"record": "pair", "message_bytes": l_max, "loop_length": 3}
    measured_ = [{"record": "all_pairs", "rounds": rounds, "estimate_seconds": 1.0}]
    for number in range(rounds):
        partners = matchings_of_b_eff.tournament(nodes_, number)
        seconds = [2e-3 if 2 in (node, partner) else 1e-3 for node, partner in enumerate(partners)]
        measured_.append(loop | {"partners": partners, "seconds": seconds, "round": number})
    moved = rounds * nodes_ * l_max * 4
    check = records[place]
    check |= {name: check[name] + moved for name in ("received_bytes", "checked_bytes")}
    log = logs_made.write(tmp_path / "log.jsonl", logs_made.numbered([*records[:place], *measured_, *records[place:]]))
    done = run("report", log, "-o", tmp_path / "report.html", "--figures", tmp_path)
    assert done.exit_code == 0, done.output
    pairs = pd.read_csv(tmp_path / "log-pairs.csv")
    names = [host["name"] for host in records[0]["hosts"]]
    found = {frozenset((row.first, row.second)): row.mbyte_per_second for row in pairs.itertuples()}
    assert found == {
        frozenset((names[a], names[b])): pytest.approx((3000 if 2 in (a, b) else 6000) * l_max / 1e6)
        for a in range(nodes_)
        for b in range(a)
    }
    assert "Bandwidth of every pair of nodes" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("count", "side"), [(256, 256), (257, 129), (513, 171)])
def test_a_cell_of_a_large_matrix_has_the_slowest_of_its_pairs(count, side):
    pairs = pd.DataFrame({"first": [0, 0, 1], "second": [1, count - 1, count - 1], "mbyte_per_second": [5.0, 7.0, 3.0]})
    figure = node_figures.matrix([f"x{number}" for number in range(count)], pairs)
    [image] = figure.canvas.axes[0].images
    cells = np.ma.filled(image.get_array(), np.nan)
    assert cells.shape == (side, side) and np.array_equal(cells, cells.T, equal_nan=True)
    assert cells[0, -1] == (7 if side == count else 3)


def test_a_run_that_left_out_rings_has_no_score_and_keeps_its_nodes(tmp_path):
    """The slow node is named in the report and at the terminal; the exit code is that of a log without a score."""
    path = logged(tmp_path, fourth(0.6), only=lambda name: name == "ping-pong")
    [error] = score_logs([path])
    assert pickle.loads(pickle.dumps(error)).nodes.verdict == "suspects"  # as pools of processes pass it on
    done = run("score", path)
    assert done.exit_code == 1 and "no score. 1 of 16 nodes suspected" in " ".join(done.stdout.split())
    assert "node03: 0.60 of its peers" in done.stdout and "[all_patterns]" in done.stderr
    [printed] = json.loads(run("score", path, "--json").stdout)
    assert printed["nodes"]["verdict"] == "suspects" and "metrics" not in printed
    assert run("report", path, "-o", tmp_path / "page.html").exit_code in (0, 1)
    page = (tmp_path / "page.html").read_text()
    assert "No score" in page and "1 of 16 nodes suspected" in page and "Nodes by their speed" in page


@pytest.mark.parametrize(
    "change",
    [
        put("matching", message_bytes=4095),
        put("data_check", received_bytes=1, checked_bytes=1),
        option(matchings=4),
        lambda records: records[1]["patterns"].append(records[1]["patterns"][0] | {"name": "ring-x", "group": "ring"}),
    ],
)
def test_nodes_of_a_log_that_breaks_any_other_rule_are_not_named(tmp_path, change):
    records = matched_log(fourth(0.6), only=lambda name: name == "ping-pong")
    change(records)
    done = run("score", logs_made.write(tmp_path / "log.jsonl", records))
    assert done.exit_code == 1 and "suspected" not in done.stdout and "defect" not in done.stderr
