# SPDX-License-Identifier: Apache-2.0
"""Runs beside what a design predicts for them: on the page, at the terminal and in JSON. The logs are made from
arithmetic on paper, so that the ratios are known."""

import json
from dataclasses import replace
from pathlib import Path

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import averaged_log
from logs_made_ftio import ftio_log
from mutator import kernel_log
from pages import HOSTILE, Page

from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import Model
from coffeecup.postprocess.benchmarks.predicted import Estimate
from coffeecup.postprocess.designs.design import read_machines
from coffeecup.postprocess.reports.predictions import expected

DESIGN = "{name}: {{network: crossbar, nodes: {nodes}, per_node: {per_node}, nic: 1GB/s, latency: 5us, {more}}}\n"
SOFTWARE, NIC, L_MAX, HEADER = 5e-6, 1e9, 8 * 2**20, 16  # s, byte/s, byte, byte
SPEED = 0.7  # of the made runs, against the arithmetic
MARK = "Predicted, not measured"


def ideal(messages_of_two, messages):
    """The bandwidth of all processes, where so many messages of a pattern are on the busiest adapter: in rings of two,
    and in all others."""

    def bandwidth(name, method, length, repetition, plan_entry):
        busiest = messages_of_two if name in ("ring-1", "ping-pong") else messages
        busiest = 1 if name == "ping-pong" else busiest
        seconds = SOFTWARE + busiest * (length + HEADER) / NIC
        one_after_another = 2 if name == "ping-pong" else 1
        return SPEED * plan_entry["messages_per_exchange"] * length / (one_after_another * seconds)

    return bandwidth


def log(path, nodes, *, order=None, bandwidth=None, simulated=False):
    """16 processes on so many nodes; `order` has the ranks of each node."""
    records = averaged_log(
        ranks=16, nodes=nodes, bandwidth=bandwidth or ideal(1, 2), methods=("sendrecv",), repetitions=1,
        simulated=simulated,
    )  # fmt: skip
    for host, ranks in zip(records[0]["hosts"], order or []):
        host["ranks"] = ranks
    return logs_made.write(path, records)


def design(path, name="offer", nodes=16, per_node=1, more="shared_memory: 100GB/s"):
    path.write_text(DESIGN.format(name=json.dumps(name), nodes=nodes, per_node=per_node, more=more))
    return path


def beside(*words, code=0):
    done = run("score", *words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_run_over_predicted_is_known(tmp_path):
    """A crossbar with a process on each node: one message at each adapter in rings of two, otherwise two. The made run
    has 0.7 of that at all lengths; at L_max the prediction is the same arithmetic."""
    [shown] = beside(log(tmp_path / "a.jsonl", 16), "--design", design(tmp_path / "d.yaml"))
    [compared] = shown["predictions"]
    assert (compared["kind"], compared["design"], compared["processes"], compared["nodes"]) == (
        "predicted", "offer", 16, 16,
    )  # fmt: skip
    at_l_max = [name for name in compared["metrics"] if "at_l_max" in name] + ["ping_pong_bandwidth"]
    assert len(at_l_max) == 5
    assert {name: compared["run_over_predicted"][name] for name in at_l_max} == pytest.approx(
        dict.fromkeys(at_l_max, SPEED), rel=1e-3
    )
    for name, value in compared["run"].items():
        assert value == pytest.approx(compared["run_over_predicted"][name] * compared["metrics"][name]["value"])
        assert name not in shown["metrics"] or value == shown["metrics"][name]["value"]
    [rings] = [limit for limit in compared["limits"] if limit["pattern"] == "ring-6"]
    rate = 32 * L_MAX / (SOFTWARE + 2 * (L_MAX + HEADER) / NIC) / 1e6
    assert rings["mbyte_per_second"] == pytest.approx(rate)
    assert compared["run_patterns"]["ring-6"] == pytest.approx(SPEED * rate, rel=1e-3)
    limits = {name: metric["limit"] for name, metric in compared["metrics"].items() if metric["limit"]}
    assert limits == {
        "b_eff_at_l_max_rings_per_process": "6 ring patterns: out of the adapter of node",
        "b_eff_at_l_max_random_per_process": "30 random patterns: out of the adapter of node",
        "ping_pong_bandwidth": "ping-pong: out of the adapter of node",
    }
    assert not any("memory_per_process" in text for text in compared["assumed"])  # the log states it


def test_placement_is_that_of_the_log(tmp_path):
    """Two nodes of eight. In turn: all neighbours in rings of all are on the other node, 16 messages at each adapter;
    in blocks, two. The design's own placement does not matter."""
    turns = [list(range(0, 16, 2)), list(range(1, 16, 2))]
    logs = {
        16: log(tmp_path / "turns.jsonl", 2, order=turns, bandwidth=ideal(8, 16)),
        2: log(tmp_path / "blocks.jsonl", 2, bandwidth=ideal(8, 2)),
    }
    for placement in ("block", "round_robin"):
        described = design(
            tmp_path / "d.yaml", nodes=4, per_node=8, more=f"placement: {placement}, shared_memory: 1000GB/s"
        )
        for messages, path in logs.items():
            [[compared]] = [shown["predictions"] for shown in beside(path, "--design", described)]
            [rings] = [limit for limit in compared["limits"] if limit["pattern"] == "ring-6"]
            seconds = SOFTWARE + messages * (L_MAX + HEADER) / NIC
            assert rings["mbyte_per_second"] == pytest.approx(32 * L_MAX / seconds / 1e6), (placement, messages)
            assert (compared["processes"], compared["nodes"]) == (16, 2)


def test_random_patterns_are_those_of_the_log(tmp_path):
    """On a line of nodes, each seed has its own load of the links."""
    path, described = log(tmp_path / "a.jsonl", 16), tmp_path / "d.yaml"
    described.write_text("line: {network: torus, shape: 16x1x1, nodes: 16, nic: 1GB/s, latency: 5us}\n")
    [[compared]] = [shown["predictions"] for shown in beside(path, "--design", described)]
    seed = json.loads(path.read_text().splitlines()[0])["options"]["seed"]
    [machine] = read_machines(described)
    own, other = (
        Model(replace(machine, memory_per_process=2**30), 16, Calibration(), seed=number).metrics()
        for number in (seed, 1)
    )
    values = {name: metric["value"] for name, metric in compared["metrics"].items()}
    assert values == pytest.approx(own)
    assert values["b_eff_at_l_max"] != pytest.approx(other["b_eff_at_l_max"])


def test_longest_message_is_that_of_the_log(tmp_path):
    """Beside a device with little memory, messages in host memory are shorter than its own memory allows: 64 KiB."""
    path = logs_made.write(tmp_path / "a.jsonl", kernel_log("b_eff-memory"))
    [[compared]] = [shown["predictions"] for shown in beside(path, "--design", design(tmp_path / "d.yaml", per_node=3))]
    bandwidth = 2**16 / (SOFTWARE + (2**16 + HEADER) / 100e9) / 1e6  # of ranks 0 and 1, on one node
    assert compared["metrics"]["ping_pong_bandwidth"]["value"] == pytest.approx(bandwidth)
    assert compared["run_over_predicted"]["l_max"] == 1


def test_page_and_terminal_mark_it_apart_from_the_score(tmp_path):
    path, described = log(tmp_path / "a.jsonl", 16), design(tmp_path / "d.yaml", name=HOSTILE)
    out = tmp_path / "r.html"
    done = run("report", path, "-o", out, "--design", described)
    assert done.exit_code == 0, done.output
    page = out.read_text()
    words = Page(page).words
    assert words.count(MARK) == 1 and "This run, measured Predicted Run / predicted" in words
    assert "0.70" in words and "(within)" in words and "6 ring patterns: out of the adapter of node" in words
    assert "All 37 patterns at the longest messages, predicted and this run, measured" in words
    assert "<script" not in page and HOSTILE in words
    text = run("score", path, "--design", described).stdout
    assert ", not measured" in text and "run / predicted" in text and "0.70" in text
    plain, with_design = (beside(path, *words)[0] for words in ((), ("--design", described)))
    assert "predictions" not in plain
    assert {key: value for key, value in with_design.items() if key != "predictions"} == plain


@pytest.mark.parametrize(
    ("value", "place"), [(9.99, "below"), (10, "within"), (12, "within"), (12.01, "above"), (99, "above"), (0, "below")]
)
def test_run_is_below_within_or_above_the_range(value, place):
    assert expected(value, Estimate(11, "us", 10, 12), "") == f"10 to 12 ({place})"
    assert expected(value, Estimate(11, "us"), "") == "not known"


def test_values_of_simulated_runs_are_not_called_measured(tmp_path):
    path = log(tmp_path / "a.jsonl", 16, simulated=True)
    described = design(tmp_path / "d.yaml", nodes=4, per_node=4)
    done = run("score", path, "--design", described)
    assert "this run, simulated" in done.stdout and "this run, measured" not in done.stdout
    [shown] = beside(path, "--design", described)
    assert shown["simulated"] and shown["predictions"][0]["nodes"] == 4  # a simulated host may be a process


@pytest.mark.parametrize(
    ("nodes", "per_node", "simulated", "problem"),
    [
        (15, 1, False, "the run has 16 nodes, the design 15"),
        (16, 1, False, None),
        (15, 1, True, "the run has 16 processes, the design 15"),
        (16, 1, True, None),
    ],
)
def test_runs_that_do_not_fit_are_named(tmp_path, nodes, per_node, simulated, problem):
    path, out = log(tmp_path / "a.jsonl", 16, simulated=simulated), tmp_path / "r.html"
    described = design(tmp_path / "d.yaml", nodes=nodes, per_node=per_node)
    [shown] = beside(path, "--design", described, code=1 if problem else 0)
    sentence = f"no prediction by offer: {problem}"
    if not problem:
        assert "error" not in shown["predictions"][0]
    else:
        assert shown["predictions"] == [{"error": sentence}]
    if problem and not simulated:
        done = run("report", path, "-o", out, "--design", described)
        assert done.exit_code == 1 and f"1 log without a score or a comparison: {out} states why\n" in done.stderr
        assert sentence in Page(out.read_text()).words


def test_nodes_with_more_processes_than_the_design_are_named(tmp_path):
    path = log(tmp_path / "a.jsonl", 2)
    fits, small = (design(tmp_path / f"{most}.yaml", per_node=most) for most in (8, 7))
    assert beside(path, "--design", fits)[0]["predictions"][0]["nodes"] == 2
    [shown] = beside(path, "--design", small, code=1)
    assert "the run has 8 processes on a node, the design 7" in shown["predictions"][0]["error"]


def test_no_log_calibrates_its_own_prediction(tmp_path):
    """Two nodes at 0.7 of the design: without calibration by its own log, the run keeps its 0.7."""
    path = log(tmp_path / "a.jsonl", 2, bandwidth=ideal(1, 2))
    other = log(tmp_path / "b.jsonl", 2, order=[list(range(8)), list(range(8, 16))], simulated=True)
    described = design(tmp_path / "d.yaml", nodes=2, per_node=8)
    plain, own, both = (
        beside(path, "--design", described, *(word for log in logs for word in ("--calibrate", log)))[0]["predictions"]
        for logs in ([], [path], [path, other])
    )
    assert own == plain and own[0]["calibration"] == []
    assert [line.partition(":")[0] for line in both[0]["calibration"]] == ["b.jsonl"]


def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, described, out = log(Path("a.jsonl"), 16), design(Path("d.yaml")), Path("r.html")
    stranger = logs_made.write(Path("ftio.jsonl"), ftio_log())
    for words, problem in (
        (["score", path, "--design", described, "--csv"], "--csv has measured values only"),
        (["score", path, "--calibrate", path], "add --design FILE"),
        (["report", path, "-o", out, "--design", tmp_path / "none.yaml"], "cannot be read"),
        (["report", path, "-o", out, "--design", described, "--calibrate", stranger], "ftio cannot be predicted"),
        (["report", stranger, "-o", out, "--design", described], "no log with a score is of b_eff"),
    ):
        done = run(*words)
        assert done.exit_code == 2 and problem in said(done), words
    assert not out.exists()
