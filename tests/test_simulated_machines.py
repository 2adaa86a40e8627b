# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines that were published: the paper's physics, its Table 1, and the report beside it.
Skipped where SimGrid is not."""

import json

import logs_made
import pytest
from kernel_runs import of_kind
from logs_made_b_eff import b_eff_log
from simulations import HEADER, SHORT, value

from postprocess.benchmarks.b_eff.figures import over_sizes
from postprocess.benchmarks.scoring import score_log
from postprocess.reports import page as report

# no method is faster than these: see the theory in test_simulated.py
BEST = [*SHORT, "--patterns", "ring,random,ping_pong", "--methods", "nonblocking,blocking"]
FEW = [*BEST, "--random-patterns", "3"]


def test_same_input_gives_the_same_numbers(simulate):
    logs = [simulate("t3e", 24, *FEW, again=again) for again in (False, True)]
    first, second = ([r for r in map(json.loads, log.read_text().splitlines()) if r["record"] != "run"] for log in logs)
    assert [records[-1].pop("end_time") is None for records in (first, second)] == [False, False]  # of this machine
    assert first == second


def test_cost_of_a_run_is_flat_within_its_budget(simulate):
    """Loops of full length: four times the processes do not take twice the time, as the figure over the sizes shows."""
    full = ["--repetitions", "1", "--random-patterns", "1", "--patterns", "ring,random", "--methods", "nonblocking"]
    figure = over_sizes([score_log(simulate("t3e", processes, *full)) for processes in (2, 8)])
    assert (figure.data["elapsed_seconds"] < figure.data["time_budget_seconds"]).all()
    assert figure.data["elapsed_seconds"].max() < 2 * figure.data["elapsed_seconds"].min()
    labels = {line.get_label(): list(line.get_ydata()) for line in figure.canvas.axes[2].lines}
    assert labels["time budget"] == [240] * 2
    assert labels["simulated: Cray T3E/900-512"] == list(figure.data["elapsed_seconds"])


# Table 1: b_eff; for each process at L_max, all and rings
T3E = {2: (183, 210, 210), 24: (1522, 142, 205), 64: (3159, 110, 192)}


@pytest.fixture(scope="session")
def t3e(simulate):
    """Scores of the T3E by number of processes."""
    return {processes: score_log(simulate("t3e", processes, *FEW)).metrics for processes in T3E}


def test_t3e_loses_with_size_but_its_rings_hardly_do(t3e):
    effective = [metrics["b_eff_per_process"].value for metrics in t3e.values()]
    rings = [metrics["b_eff_at_l_max_rings_per_process"].value for metrics in t3e.values()]
    assert effective == sorted(effective, reverse=True)
    assert effective[-1] / effective[0] < 0.65
    assert min(rings) / max(rings) > 0.9


def test_t3e_comes_near_table_1(t3e):
    """2 processes are what the ports and the latency were chosen for; the others are predictions."""
    for processes, (b_eff, all_at_l_max, rings_at_l_max) in T3E.items():
        metrics = {name: metric.value for name, metric in t3e[processes].items()}
        assert metrics["b_eff"] == pytest.approx(b_eff, rel=0.2)
        assert metrics["b_eff_at_l_max_per_process"] == pytest.approx(all_at_l_max, rel=0.12)
        assert metrics["b_eff_at_l_max_rings_per_process"] == pytest.approx(rings_at_l_max, rel=0.05)
        assert metrics["ping_pong_bandwidth"] == pytest.approx(330, rel=0.01)


def test_t3e_rings_share_ports_and_routers(simulate):
    """Each process has four messages at its port, and k at its router that pass. Consecutive processes are neighbours,
    and those that close a ring of four or eight as well: there nothing passes."""
    log = simulate("t3e", 64, *FEW)
    [plan] = of_kind(log, "plan")
    latency, length = 26e-6, plan["l_max_bytes"]
    shares = [latency + (length + HEADER) / min(421.1e6 / 4, 480e6 / (4 + passing)) for passing in range(3)]
    seconds = {m["pattern"]: m["elapsed_seconds"] for m in of_kind(log, "measurement") if m["message_bytes"] == length}
    for pattern in ("ring-2", "ring-3"):
        assert seconds[pattern] == pytest.approx(shares[0], rel=0.002)
    for pattern in ("ring-4", "ring-5", "ring-6"):
        assert min(abs(seconds[pattern] / share - 1) for share in shares) < 0.002


def loses_against_rings(metrics):
    return metrics["b_eff_at_l_max_per_process"].value < 0.9 * metrics["b_eff_at_l_max_rings_per_process"].value


def test_random_neighbours_lose_against_rings(t3e):
    assert loses_against_rings(t3e[24]) and loses_against_rings(t3e[64])


@pytest.mark.prove
def test_random_neighbours_lose_against_rings_on_a_fat_tree(simulate):
    assert loses_against_rings(score_log(simulate("fat_tree", 64, *FEW)).metrics)


def test_sr8000_sequential_beats_round_robin_by_about_two(simulate):
    """Table 1, 24 processes: 1806 against 915 MByte/s; at L_max in rings 400 against 110 for each process."""
    sequential, round_robin = (
        score_log(simulate("sr8000", 24, *FEW, placement=placement, per_node=8)).metrics
        for placement in ("sequential", "round-robin")
    )
    assert 1.5 < sequential["b_eff"].value / round_robin["b_eff"].value < 2.5
    rings = "b_eff_at_l_max_rings_per_process"
    assert 2.5 < sequential[rings].value / round_robin[rings].value < 4
    for metrics, published in ((sequential, 5415), (round_robin, 2764)):
        assert metrics["b_eff_at_l_max"].value == pytest.approx(published, rel=0.15)


@pytest.mark.prove
def test_t3e_of_512_processes_comes_near_table_1(simulate, t3e):
    """Table 1: 39 MByte/s for each of 512 processes, less than half of the 91 for each of two; rings at L_max still
    have 193 of 210."""
    log = simulate("t3e", 512, *BEST, "--random-patterns", "1")
    assert value(log, "b_eff_per_process") < 0.6 * t3e[2]["b_eff_per_process"].value
    assert value(log, "b_eff_at_l_max_rings_per_process") == pytest.approx(193, rel=0.08)
    assert value(log, "b_eff_at_l_max_per_process") == pytest.approx(98, rel=0.15)


def test_report_sets_simulated_beside_published_and_apart_from_measured(simulate, tmp_path):
    logs = [simulate("t3e", processes, *FEW) for processes in (2, 24)]
    measured = logs_made.write(tmp_path / "measured.jsonl", b_eff_log(ranks=16))
    page = report.html(report.items([*logs, measured]))
    assert page.count("Simulated, not measured") == 2
    assert page.count("Published: Cray T3E/900-512") == page.count("Simulated against published") == 2
    assert page.count("simulated: Cray T3E/900-512") == 1  # in the figure's legend


def test_figure_keeps_simulated_and_measured_runs_apart(simulate, tmp_path):
    measured = logs_made.write(tmp_path / "measured.jsonl", b_eff_log(ranks=16))
    figure = over_sizes([score_log(log) for log in (measured, simulate("t3e", 2, *FEW))])
    lines = {line.get_label(): len(line.get_xdata()) for line in figure.canvas.axes[0].lines}
    assert lines == {"official": 1, "not official": 0, "simulated: Cray T3E/900-512": 1}
