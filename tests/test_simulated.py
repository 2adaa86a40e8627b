# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines: the kernel against arithmetic, and the paper's physics. Skipped where SimGrid is not.

Simulated time has no noise, so a loop of one exchange says as much as one of 300, and runs here are short.
"""

import json
import re
import statistics
import subprocess
import sys

import logs_made
import pytest
from simulations import SHORT, SITE, records, value

from postprocess.benchmarks.b_eff.figures import over_sizes
from postprocess.benchmarks.scoring import score_log
from postprocess.reports import page as report

MIB = 2**20
BEST = [
    *SHORT,
    "--patterns",
    "ring,random,ping_pong",
    "--methods",
    "nonblocking,blocking",
]  # none is faster: see the theory below
FEW = [*BEST, "--random-patterns", "3"]

# Theory: links of 350 MByte/s and 5 us, two of them between processors, and 16 byte that SMPI adds to each message

LATENCY = 10e-6
BANDWIDTH = 350e6
HEADER = 16


def message(length, flows=1):
    """Seconds for `flows` messages that share a link."""
    return LATENCY + flows * (length + HEADER) / BANDWIDTH


def ring_exchange(size, method, length):
    """Two messages for each process: one after the other by sendrecv, else both at the same time. One in a ring of
    two."""
    if size == 2:
        return message(length)
    return 2 * message(length) if method == "sendrecv" else message(length, flows=2)


def test_rings_on_a_crossbar_take_the_time_of_arithmetic(simulate):
    log = simulate("crossbar", 16, *SHORT)
    [plan] = records(log, "plan")
    rings = {
        pattern["name"]: {ring["size"] for ring in pattern["rings"]}
        for pattern in plan["patterns"]
        if pattern["group"] in ("ring", "random", "worst_cycle")
    }
    compared = 0
    for m in records(log, "measurement"):
        if m["pattern"] in rings:
            slowest = max(ring_exchange(size, m["method"], m["message_bytes"]) for size in rings[m["pattern"]])
            assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * slowest, rel=0.01), m
            compared += 1
    assert compared == 37 * 21 * 4


def test_pairs_on_a_crossbar_take_the_time_of_arithmetic(simulate):
    """By sendrecv and blocking one way, then the other: two messages after each other. By other methods both at the
    same time."""
    log = simulate("crossbar", 16, *SHORT)
    pairs = [m for m in records(log, "measurement") if m["pattern"].startswith(("bisection", "ping-pong"))]
    assert {m["method"] for m in pairs} == {"sendrecv", "alltoallv", "nonblocking", "persistent", "blocking"}
    for m in pairs:
        ways = 2 if m["method"] in ("sendrecv", "blocking") else 1
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * ways * message(m["message_bytes"]), rel=0.01), m


@pytest.mark.parametrize("loop", [1, 5])
def test_single_link_gives_its_latency_and_its_bandwidth(simulate, tmp_path, loop):
    platform = tmp_path / "link.xml"
    platform.write_text("""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="world" routing="Floyd">
  <cluster id="a" prefix="a" suffix="" radical="0-0" speed="1Gf" bw="1GBps" lat="0us" router_id="ra"><prop id="memory_bytes" value="67108864"/></cluster>
  <cluster id="b" prefix="b" suffix="" radical="0-0" speed="1Gf" bw="1GBps" lat="0us" router_id="rb"><prop id="memory_bytes" value="67108864"/></cluster>
  <link id="link" bandwidth="100MBps" latency="20us" sharing_policy="SPLITDUPLEX"/>
  <zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="link" direction="UP"/></zoneRoute>
</zone></platform>""")  # noqa: E501
    log = simulate(platform, 2, "--longest-loop", str(loop), "--repetitions", "1", "--random-patterns", "1")
    for m in records(log, "measurement"):
        one_way = 20e-6 + (m["message_bytes"] + HEADER) / 100e6
        in_turns = m["pattern"].startswith(("bisection", "ping-pong")) and m["method"] in ("sendrecv", "blocking")
        ways = 2 if in_turns else 1
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * ways * one_way, rel=0.01), m
    assert value(log, "ping_pong_bandwidth") == pytest.approx(100, rel=0.01)
    assert value(log, "ping_pong_latency") == pytest.approx(20 + 0.17, rel=0.01)


def star(tmp_path, latency=(0, 0), software=0):
    """Three processors with cables of 100 MByte/s: two at one switch, the third at another. `latency` in seconds of a
    cable of either switch, `software` in seconds to send and to receive a message."""
    steps = "".join(f'<prop id="smpi/{step}" value="0:{software}:0"/>' for step in ("os", "ois", "or"))
    cable = 'suffix="" speed="1Gf" bw="100MBps"'
    memory = '<prop id="memory_bytes" value="67108864"/>'
    platform = tmp_path / "star.xml"
    platform.write_text(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><config>{steps}</config><zone id="world" routing="Floyd">
  <cluster id="near" prefix="near-" radical="0-1" {cable} lat="{latency[0]}s" router_id="switch">{memory}</cluster>
  <cluster id="far" prefix="far-" radical="0-0" {cable} lat="{latency[1]}s" router_id="other">{memory}</cluster>
  <link id="trunk" bandwidth="1GBps" latency="0s" sharing_policy="SPLITDUPLEX"/>
  <zoneRoute src="near" dst="far" gw_src="switch" gw_dst="other"><link_ctn id="trunk" direction="UP"/></zoneRoute>
</zone></platform>""")
    return platform


def test_paths_of_different_length_share_a_link_equally(simulate, tmp_path):
    """Each cable carries two messages each way. If messages on the short path had the larger share, those of the far
    processor would come after them, and then share its cable: three times length / bandwidth instead of two."""
    log = simulate(star(tmp_path), 3, *SHORT, "--patterns", "ring", "--methods", "nonblocking")
    measurements = records(log, "measurement")
    assert len(measurements) == 6 * 21
    for m in measurements:
        expected = 2 * (m["message_bytes"] + HEADER) / 100e6
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.01, abs=1e-7), m


def test_platform_with_paths_of_different_latency_is_refused(simulated_kernel, tmp_path):
    platform = star(tmp_path, latency=(1e-6, 50e-6))
    done = subprocess.run(
        [SITE / "run", "-np", "3", "--platform", platform, simulated_kernel, "--log", tmp_path / "x"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "paths of this platform have latencies from 2 to 51 us" in done.stderr
    assert "put it into smpi/os, smpi/ois and smpi/or" in done.stderr
    assert not (tmp_path / "x").exists()


def test_software_time_counts_at_every_length(simulate, tmp_path):
    """1 ms to send and 1 ms to receive, beside 5 ms for the longest message."""
    log = simulate(
        star(tmp_path, software=1e-3),
        2,
        *SHORT,
        "--patterns",
        "ring,ping_pong",
        "--methods",
        "nonblocking,sendrecv,blocking",
    )
    measurements = records(log, "measurement")
    assert max(m["message_bytes"] for m in measurements) == MIB / 2
    for m in measurements:
        ways = 2 if m["pattern"] == "ping-pong" else 1
        expected = ways * (2e-3 + (m["message_bytes"] + HEADER) / 100e6)
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.01), m


def test_score_on_a_crossbar_is_arithmetic(simulate):
    """All patterns are alike but the rings of two, and placement does not matter."""
    log = simulate("crossbar", 16, *SHORT)
    [plan] = records(log, "plan")
    lengths = plan["message_bytes"]
    pair = statistics.mean(length / message(length) for length in lengths)
    ring = statistics.mean(2 * length / message(length, flows=2) for length in lengths)
    expected = (pair * ring**5) ** (1 / 6)
    assert value(log, "b_eff_per_process") == pytest.approx((expected * ring) ** 0.5 / 1e6, rel=0.01)


def test_same_input_gives_the_same_numbers(simulate):
    logs = [simulate("t3e", 24, *FEW, again=again) for again in (False, True)]
    first, second = ([r for r in map(json.loads, log.read_text().splitlines()) if r["record"] != "run"] for log in logs)
    assert first == second


def test_long_loops_say_what_short_ones_say(simulate):
    """No start-up effect hides in the only exchange of a short loop."""
    options = ["--patterns", "ring", "--methods", "nonblocking,sendrecv"]
    short, long = (
        records(simulate("crossbar", 4, *more, *options), "measurement") for more in (SHORT, ["--repetitions", "1"])
    )
    assert max(m["loop_length"] for m in long) > 200
    for one, many in zip(short, long, strict=True):
        assert many["elapsed_seconds"] / many["loop_length"] == pytest.approx(one["elapsed_seconds"], rel=0.01)


def test_budget_holds_in_simulated_time(simulate):
    """Of 10 s that these loops would take there are 4: the log tells what was left out, and the clock that it was
    enough."""
    log = simulate(
        "crossbar", 2, "--time-budget", "4", "--patterns", "ring,random", "--methods", "nonblocking,sendrecv"
    )
    [end] = records(log, "end")
    assert end["elapsed_seconds"] < 4.4
    assert records(log, "budget")


def test_cost_of_a_run_is_flat_within_its_budget(simulate):
    """Loops of full length: four times the processes do not take twice the time, as the figure over the sizes shows."""
    full = ["--repetitions", "1", "--random-patterns", "1", "--patterns", "ring,random", "--methods", "nonblocking"]
    figure = over_sizes([score_log(simulate("t3e", processes, *full)) for processes in (2, 4, 8)])
    assert (figure.data["elapsed_seconds"] < figure.data["time_budget_seconds"]).all()
    assert figure.data["elapsed_seconds"].max() < 2 * figure.data["elapsed_seconds"].min()
    labels = {line.get_label(): list(line.get_ydata()) for line in figure.canvas.axes[2].lines}
    assert labels["time budget"] == [240] * 3
    assert labels["simulated: Cray T3E/900-512"] == list(figure.data["elapsed_seconds"])


# What a simulation must say of itself


def test_result_says_that_it_is_simulated_and_what_was_not_checked(simulate):
    score = score_log(simulate("crossbar", 4, *SHORT, "--random-patterns", "2"))
    reasons = {qualification.key for qualification in score.qualifications}
    assert not score.official
    assert {"simulated", "not_checked", "longest_loop_length", "repetitions", "random_patterns"} <= reasons
    assert score.log.run.simulated is True
    assert score.log.run.environment["SMPI_MODEL_OF"] == "crossbar"


def test_platform_without_memory_is_refused(simulated_kernel, tmp_path):
    """The memory of the machine that simulates must not become that of the machine that is simulated."""
    platform = tmp_path / "bare.xml"
    text = (SITE / "platforms" / "crossbar.xml").read_text()
    platform.write_text(text.replace('memory_bytes"', 'something_else"'))
    done = subprocess.run(
        [SITE / "run", "-np", "2", "--platform", platform, simulated_kernel, "--log", tmp_path / "x.jsonl"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "the platform does not state the memory of a node" in done.stderr


def test_more_processes_than_hosts_are_refused(tmp_path):
    done = subprocess.run(
        [SITE / "run", "-np", "129", "--platform", "sr8000", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "129 processes do not fit: the platform has 128 hosts" in done.stderr


@pytest.mark.parametrize("platform", sorted((SITE / "platforms").iterdir()), ids=lambda path: path.stem)
def test_every_number_of_a_platform_has_its_source(platform):
    """Each attribute with a number that describes the machine is named in the comment at the head of the file."""
    start, end = ("<!--", "-->") if platform.suffix == ".xml" else ("/*", "*/")
    _, comment, description = re.split(f"{re.escape(start)}|{re.escape(end)}", platform.read_text(), maxsplit=2)
    numbers = set(re.findall(r'\b([A-Z_]{3,})(?:\[\])? = "?[0-9]', description)) or set(
        re.findall(r'(\w+)="[^"]*[0-9](?:[MGk]Bps|us)"', description)
    ) | {"memory_bytes"}
    numbers |= {
        name for name in ("topo_parameters", "smpi/os") if f'{name}"' in description or f"{name}=" in description
    }
    assert len(numbers) >= 3
    for name in numbers - {"bb_lat"}:  # SimGrid demands one
        assert name in comment, name


# The paper's physics


T3E = {
    2: (183, 210, 210),
    24: (1522, 142, 205),
    64: (3159, 110, 192),
}  # Table 1: b_eff; for each process at L_max, all and rings


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
    [plan] = records(log, "plan")
    latency, length = 26e-6, plan["l_max_bytes"]
    shares = [latency + (length + HEADER) / min(421.1e6 / 4, 480e6 / (4 + passing)) for passing in range(3)]
    seconds = {m["pattern"]: m["elapsed_seconds"] for m in records(log, "measurement") if m["message_bytes"] == length}
    for pattern in ("ring-2", "ring-3"):
        assert seconds[pattern] == pytest.approx(shares[0], rel=0.002)
    for pattern in ("ring-4", "ring-5", "ring-6"):
        assert min(abs(seconds[pattern] / share - 1) for share in shares) < 0.002


def test_random_neighbours_lose_against_rings(t3e, simulate):
    tree = score_log(simulate("fat_tree", 64, *FEW)).metrics
    for metrics in (t3e[24], t3e[64], tree):
        assert metrics["b_eff_at_l_max_per_process"].value < 0.9 * metrics["b_eff_at_l_max_rings_per_process"].value


def test_sr8000_sequential_beats_round_robin_by_about_two(simulate):
    """Table 1, 24 processes: 1806 against 915 MByte/s; at L_max in rings 400 against 110 for each process."""
    sequential, round_robin = (
        score_log(simulate("sr8000", 24, *BEST, "--random-patterns", "5", placement=placement, per_node=8)).metrics
        for placement in ("sequential", "round-robin")
    )
    assert 1.5 < sequential["b_eff"].value / round_robin["b_eff"].value < 2.5
    rings = "b_eff_at_l_max_rings_per_process"
    assert 2.5 < sequential[rings].value / round_robin[rings].value < 4
    for metrics, published in ((sequential, 5415), (round_robin, 2764)):
        assert metrics["b_eff_at_l_max"].value == pytest.approx(published, rel=0.15)


# Sizes


@pytest.mark.parametrize("processes", [2, 5, 64])
def test_all_patterns_and_methods_run_at_every_size(simulate, processes):
    log = simulate("crossbar", processes, *SHORT)
    [plan] = records(log, "plan")
    assert {method["name"] for method in plan["methods"]} == {
        "sendrecv",
        "alltoallv",
        "nonblocking",
        "persistent",
        "blocking",
    }
    assert len(records(log, "measurement")) == 21 * sum(len(pattern["methods"]) for pattern in plan["patterns"])
    assert value(log, "b_eff") > 0


def test_512_processes_are_few_enough_for_a_test(simulate, t3e):
    """Table 1: 39 MByte/s for each of 512 processes, less than half of the 91 for each of two; rings at L_max still
    have 193 of 210."""
    log = simulate("t3e", 512, *BEST, "--random-patterns", "1")
    assert value(log, "b_eff_per_process") < 0.6 * t3e[2]["b_eff_per_process"].value
    assert value(log, "b_eff_at_l_max_rings_per_process") == pytest.approx(193, rel=0.08)
    assert value(log, "b_eff_at_l_max_per_process") == pytest.approx(98, rel=0.15)


# The report


def test_report_sets_simulated_beside_published_and_apart_from_measured(simulate, tmp_path):
    logs = [simulate("t3e", processes, *FEW) for processes in (2, 24)]
    measured = logs_made.write(tmp_path / "measured.jsonl", logs_made.b_eff_log(ranks=16))
    page = report.html(report.items([*logs, measured]))
    assert page.count("Simulated, not measured") == 2
    assert page.count("Published: Cray T3E/900-512") == page.count("Simulated against published") == 2
    assert page.count("simulated: Cray T3E/900-512") == 1  # in the figure's legend


def test_figure_keeps_simulated_and_measured_runs_apart(simulate, tmp_path):
    measured = logs_made.write(tmp_path / "measured.jsonl", logs_made.b_eff_log(ranks=16))
    figure = over_sizes([score_log(log) for log in (measured, simulate("t3e", 2, *FEW))])
    lines = {line.get_label(): len(line.get_xdata()) for line in figure.canvas.axes[0].lines}
    assert lines == {"official": 1, "not official": 0, "simulated: Cray T3E/900-512": 1}


# The site


@pytest.mark.usefixtures("simulated_kernel")  # skips where SimGrid is not
def test_reframe_runs_the_simulated_site_like_any_other(reframe):
    """Needs the compiler to be found by the environment, the launcher by the partition, and the log to say what it
    is."""
    session = reframe(
        "--system=simulated:sr8000-round-robin",
        "-r",
        "-S",
        "builder=cmake",
        "-n",
        "num_processes=24$",
        config=SITE / "settings.py",
    )
    assert session.returncode == 0, session.output
    [case] = session.cases
    assert (case["system"], case["partition"], case["num_processes"]) == ("simulated", "sr8000-round-robin", 24)
    assert "simulated" in case["qualifications"].split(",")
    [log] = reframe.folder.glob("output/**/b_eff.jsonl")
    assert records(log, "run")[0]["environment"]["SMPI_MODEL_OF"] == "Hitachi SR 8000 round-robin"


def test_site_without_simgrid_names_the_package(tmp_path):
    done = subprocess.run(
        [sys.executable, SITE / "run", "-np", "2", "--platform", "t3e", "true"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "libsimgrid-dev" in done.stderr
