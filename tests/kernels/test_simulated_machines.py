# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines: runs give the references that the repository ships, these have the paper's physics and
come near its Table 1, and the report sets both beside each other. Runs are skipped where SimGrid is not."""

import json

import logs_made
import pytest
import yaml
from builds import ROOT
from kernel_runs import of_kind
from logs_made_b_eff import b_eff_log
from scores import values
from simulations import HEADER, SHORT

from coffeecup.postprocess.benchmarks.b_eff.figures import over_sizes
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.reports import page as report

# As the site runs them: no method is faster than these, see the theory in test_simulated.py.
BEST = [*SHORT, "--patterns", "ring,random,ping_pong", "--methods", "nonblocking,blocking"]
FEW = [*BEST, "--random-patterns", "3"]
RINGS = "b_eff_at_l_max_rings_per_process"


@pytest.fixture(scope="module")
def references():
    """{machine: {processes: {metric: value}}}, as runs of FEW gave them."""
    content = yaml.safe_load((ROOT / "reference_values" / "simulated" / "b_eff.yaml").read_text())["b_eff"]
    return {
        partition.removeprefix("simulated:"): {
            processes: {name: entry[0] for name, entry in metrics.items()} for processes, metrics in sizes.items()
        }
        for partition, sizes in content.items()
        if partition != "$index"
    }


RUNS = [  # test_simulated.py runs sr8000-round-robin
    ("crossbar", 8, {}),
    ("t3e", 2, {}),
    ("t3e", 24, {}),
    pytest.param("t3e", 64, {}, marks=pytest.mark.prove),
    ("fat_tree", 8, {}),
    ("dragonfly", 8, {}),
    pytest.param("sr8000-sequential", 24, {"placement": "sequential", "per_node": 8}, marks=pytest.mark.prove),
]


@pytest.mark.parametrize(("machine", "processes", "placed"), RUNS)
def test_the_kernel_gives_the_references_of_each_machine(references, simulate, machine, processes, placed):
    """To the four digits of the file, a much smaller difference than the tolerance."""
    log = simulate(machine.partition("-")[0], processes, *FEW, **placed)
    assert values(score_log(log)) == pytest.approx(references[machine][processes], rel=6e-4)


def test_same_input_gives_the_same_numbers(simulate):
    logs = [simulate("t3e", 8, *FEW, again=again) for again in (False, True)]
    first, second = ([r for r in map(json.loads, log.read_text().splitlines()) if r["record"] != "run"] for log in logs)
    assert [records[-1].pop("end_time") is None for records in (first, second)] == [False, False]  # of this machine
    assert first == second


@pytest.mark.prove
def test_cost_of_a_run_is_flat_within_its_budget(simulate):
    """Loops of full length: four times the processes do not take twice the time, as the figure over the sizes shows."""
    full = ["--repetitions", "1", "--random-patterns", "1", "--patterns", "ring,random", "--methods", "nonblocking"]
    figure = over_sizes([score_log(simulate("t3e", processes, *full)) for processes in (2, 8)])
    assert (figure.data["elapsed_seconds"] < figure.data["time_budget_seconds"]).all()
    assert figure.data["elapsed_seconds"].max() < 2 * figure.data["elapsed_seconds"].min()
    labels = {line.get_label(): list(line.get_ydata()) for line in figure.canvas.axes[2].lines}
    assert labels["time budget"] == [240] * 2
    assert labels["simulated: Cray T3E/900-512"] == list(figure.data["elapsed_seconds"])


# --- published machines -----------------------------------------------------------------------------------------------

# Table 1: b_eff; for each process at L_max, all and rings
T3E = {2: (183, 210, 210), 24: (1522, 142, 205), 64: (3159, 110, 192)}


def test_t3e_loses_with_size_but_its_rings_hardly_do(references):
    effective = [references["t3e"][processes]["b_eff_per_process"] for processes in T3E]
    rings = [references["t3e"][processes][RINGS] for processes in T3E]
    assert effective == sorted(effective, reverse=True)
    assert effective[-1] / effective[0] < 0.65
    assert min(rings) / max(rings) > 0.9


@pytest.mark.parametrize("processes", T3E)
def test_t3e_comes_near_table_1(references, processes):
    """2 processes are what the ports and the latency were chosen for; the others are predictions."""
    b_eff, all_at_l_max, rings_at_l_max = T3E[processes]
    metrics = references["t3e"][processes]
    assert metrics["b_eff"] == pytest.approx(b_eff, rel=0.2)
    assert metrics["b_eff_at_l_max_per_process"] == pytest.approx(all_at_l_max, rel=0.12)
    assert metrics[RINGS] == pytest.approx(rings_at_l_max, rel=0.05)
    assert metrics["ping_pong_bandwidth"] == pytest.approx(330, rel=0.01)


@pytest.mark.prove
def test_t3e_of_512_processes_comes_near_table_1(references, simulate):
    """39 MByte/s for each of 512 processes, less than half of the 91 for each of two; rings at L_max still have 193 of
    210."""
    log = simulate("t3e", 512, *BEST, "--random-patterns 1")
    metrics = values(score_log(log))
    assert metrics["b_eff_per_process"] < 0.6 * references["t3e"][2]["b_eff_per_process"]
    assert metrics[RINGS] == pytest.approx(193, rel=0.08)
    assert metrics["b_eff_at_l_max_per_process"] == pytest.approx(98, rel=0.15)


def test_t3e_rings_share_ports_and_routers(simulate):
    """Each process has four messages at its port, and k at its router that pass. Consecutive processes are neighbours,
    and those that close a ring of four or eight as well: there nothing passes."""
    log = simulate("t3e", 64, *SHORT, "--patterns ring --methods nonblocking")
    [plan] = of_kind(log, "plan")
    latency, length = 26e-6, plan["l_max_bytes"]
    shares = [latency + (length + HEADER) / min(421.1e6 / 4, 480e6 / (4 + passing)) for passing in range(3)]
    seconds = {m["pattern"]: m["elapsed_seconds"] for m in of_kind(log, "measurement") if m["message_bytes"] == length}
    for pattern in ("ring-2", "ring-3"):
        assert seconds[pattern] == pytest.approx(shares[0], rel=0.002)
    for pattern in ("ring-4", "ring-5", "ring-6"):
        assert min(abs(seconds[pattern] / share - 1) for share in shares) < 0.002


@pytest.mark.parametrize("processes", [24, 64])
def test_random_neighbours_lose_against_rings(references, processes):
    assert loses_against_rings(references["t3e"][processes])


@pytest.mark.prove
def test_random_neighbours_lose_against_rings_on_a_fat_tree(simulate):
    assert loses_against_rings(values(score_log(simulate("fat_tree", 64, *FEW))))


def loses_against_rings(metrics):
    return metrics["b_eff_at_l_max_per_process"] < 0.9 * metrics[RINGS]


def test_sr8000_sequential_beats_round_robin_by_about_two(references):
    """Table 1, 24 processes: 1806 against 915 MByte/s; at L_max in rings 400 against 110 for each process."""
    sequential, round_robin = (references[f"sr8000-{placement}"][24] for placement in ("sequential", "round-robin"))
    assert 1.5 < sequential["b_eff"] / round_robin["b_eff"] < 2.5
    assert 2.5 < sequential[RINGS] / round_robin[RINGS] < 4
    for metrics, published in ((sequential, 5415), (round_robin, 2764)):
        assert metrics["b_eff_at_l_max"] == pytest.approx(published, rel=0.15)


# --- the report -------------------------------------------------------------------------------------------------------


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
    assert lines == {"official": 1, "simulated: Cray T3E/900-512": 1}
