# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines against arithmetic, and what a simulation must say of itself. Skipped where SimGrid is
not.

Simulated time has no noise, so a loop of one exchange says as much as one of 300, and runs here are short.
"""

import re
import sys

import pytest
from kernel_runs import of_kind, run
from simulations import HEADER, SHORT, SITE, memory, platform, value

from coffeecup.postprocess.benchmarks.scoring import score_log

MIB = 2**20
# Theory: links of 350 MByte/s and 5 us, two of them between processors, and 16 byte that SMPI adds to each message
LATENCY = 10e-6
BANDWIDTH = 350e6
TWO_RANDOM = ["--random-patterns", "2"]


def message(length, flows=1):
    """Seconds for `flows` messages that share a link."""
    return LATENCY + flows * (length + HEADER) / BANDWIDTH


def ring_exchange(size, method, length):
    """Two messages for each process: one after the other by sendrecv, else both at the same time. One in a ring of
    two."""
    if size == 2:
        return message(length)
    return 2 * message(length) if method == "sendrecv" else message(length, flows=2)


def test_patterns_on_a_crossbar_take_the_time_of_arithmetic(simulate):
    """Rings, and pairs: by sendrecv and blocking one way, then the other, two messages after each other; by other
    methods both at the same time."""
    log = simulate("crossbar", 16, *SHORT, *TWO_RANDOM)
    [plan] = of_kind(log, "plan")
    rings = {
        pattern["name"]: {ring["size"] for ring in pattern["rings"]}
        for pattern in plan["patterns"]
        if pattern["group"] in ("ring", "random", "worst_cycle")
    }
    compared = 0
    for m in of_kind(log, "measurement"):
        if m["pattern"] in rings:
            slowest = max(ring_exchange(size, m["method"], m["message_bytes"]) for size in rings[m["pattern"]])
            assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * slowest, rel=0.01), m
            compared += 1
    assert compared == 9 * 21 * 4
    pairs = [m for m in of_kind(log, "measurement") if m["pattern"].startswith(("bisection", "ping-pong"))]
    assert {m["method"] for m in pairs} == {"sendrecv", "alltoallv", "nonblocking", "persistent", "blocking"}
    for m in pairs:
        ways = 2 if m["method"] in ("sendrecv", "blocking") else 1
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * ways * message(m["message_bytes"]), rel=0.01), m


@pytest.mark.parametrize("loop", [1, 5])
def test_single_link_gives_its_latency_and_its_bandwidth(simulate, tmp_path, loop):
    one = 'suffix="" radical="0-0" speed="1Gf" bw="1GBps" lat="0us"'
    text = "".join(f'<cluster id="{n}" prefix="{n}" router_id="r{n}" {one}>{memory(64 * MIB)}</cluster>' for n in "ab")
    text += """<link id="link" bandwidth="100MBps" latency="20us" sharing_policy="SPLITDUPLEX"/>
  <zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="link" direction="UP"/></zoneRoute>"""
    options = ("--longest-loop", str(loop), "--repetitions 1 --random-patterns 1")
    log = simulate(platform(tmp_path, text, "Floyd"), 2, *options)
    for m in of_kind(log, "measurement"):
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
    cable, own = 'suffix="" speed="1Gf" bw="100MBps"', memory(64 * MIB)
    text = f"""
  <cluster id="near" prefix="near-" radical="0-1" {cable} lat="{latency[0]}s" router_id="switch">{own}</cluster>
  <cluster id="far" prefix="far-" radical="0-0" {cable} lat="{latency[1]}s" router_id="other">{own}</cluster>
  <link id="trunk" bandwidth="1GBps" latency="0s" sharing_policy="SPLITDUPLEX"/>
  <zoneRoute src="near" dst="far" gw_src="switch" gw_dst="other"><link_ctn id="trunk" direction="UP"/></zoneRoute>"""
    return platform(tmp_path, text, "Floyd", f"<config>{steps}</config>")


def test_paths_of_different_length_share_a_link_equally(simulate, tmp_path):
    """Each cable carries two messages each way. If messages on the short path had the larger share, those of the far
    processor would come after them, and then share its cable: three times length / bandwidth instead of two."""
    log = simulate(star(tmp_path), 3, *SHORT, "--patterns ring --methods nonblocking")
    measurements = of_kind(log, "measurement")
    assert len(measurements) == 6 * 21
    for m in measurements:
        expected = 2 * (m["message_bytes"] + HEADER) / 100e6
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.01, abs=1e-7), m


def test_platform_with_paths_of_different_latency_is_refused(simulated_kernel, tmp_path):
    unequal = star(tmp_path, latency=(1e-6, 50e-6))
    done = run([SITE / "run", "-np", "3", "--platform", unequal, simulated_kernel, "--log", tmp_path / "x"])
    assert done.returncode != 0
    assert "paths of this platform have latencies from 2 to 51 us" in done.stderr
    assert "put it into smpi/os, smpi/ois and smpi/or" in done.stderr
    assert not (tmp_path / "x").exists()


def test_software_time_counts_at_every_length(simulate, tmp_path):
    """1 ms to send and 1 ms to receive, beside 5 ms for the longest message."""
    log = simulate(
        star(tmp_path, software=1e-3), 2, *SHORT, "--patterns ring,ping_pong --methods nonblocking,sendrecv,blocking"
    )
    measurements = of_kind(log, "measurement")
    assert max(m["message_bytes"] for m in measurements) == MIB / 2
    for m in measurements:
        ways = 2 if m["pattern"] == "ping-pong" else 1
        expected = ways * (2e-3 + (m["message_bytes"] + HEADER) / 100e6)
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.01), m


@pytest.mark.prove
def test_long_loops_say_what_short_ones_say(simulate):
    """No start-up effect hides in the only exchange of a short loop."""
    options = ["--patterns", "ring", "--methods", "nonblocking,sendrecv"]
    short, long = (
        of_kind(simulate("crossbar", 4, *more, *options), "measurement") for more in (SHORT, ["--repetitions", "1"])
    )
    assert max(m["loop_length"] for m in long) > 200
    for one, many in zip(short, long, strict=True):
        assert many["elapsed_seconds"] / many["loop_length"] == pytest.approx(one["elapsed_seconds"], rel=0.01)


def test_budget_holds_in_simulated_time(simulate):
    """Of 10 s that these loops would take there are 4: the log tells what was left out, and the clock that it was
    enough."""
    log = simulate("crossbar", 2, "--time-budget 4 --patterns ring,random --methods nonblocking,sendrecv")
    [end] = of_kind(log, "end")
    assert end["elapsed_seconds"] < 4.4
    assert of_kind(log, "budget")


def test_result_says_that_it_is_simulated_and_what_was_not_checked(simulate):
    score = score_log(simulate("crossbar", 5, *SHORT, *TWO_RANDOM))
    reasons = {qualification.key for qualification in score.qualifications}
    assert not score.official
    assert {"simulated", "not_checked", "longest_loop_length", "repetitions", "random_patterns"} <= reasons
    assert score.log.run.simulated is True
    assert score.log.run.environment["SMPI_MODEL_OF"] == "crossbar"


def test_platform_without_memory_is_refused(simulated_kernel, tmp_path):
    """The memory of the machine that simulates must not become that of the machine that is simulated."""
    bare = tmp_path / "bare.xml"
    text = (SITE / "platforms" / "crossbar.xml").read_text()
    bare.write_text(text.replace('memory_bytes"', 'something_else"'))
    done = run([SITE / "run", "-np", "2", "--platform", bare, simulated_kernel, "--log", tmp_path / "x.jsonl"])
    assert done.returncode != 0
    assert "the platform does not state the memory of a node" in done.stderr


def test_more_processes_than_hosts_are_refused(tmp_path):
    done = run([SITE / "run", "-np", "129", "--platform", "sr8000", "true"])
    assert done.returncode != 0
    assert "129 processes do not fit: the platform has 128 hosts" in done.stderr


@pytest.mark.parametrize("path", sorted((SITE / "platforms").iterdir()), ids=lambda path: path.stem)
def test_every_number_of_a_platform_has_its_source(path):
    """Each attribute with a number that describes the machine is named in the comment at the head of the file."""
    start, end = ("<!--", "-->") if path.suffix == ".xml" else ("/*", "*/")
    _, comment, description = re.split(f"{re.escape(start)}|{re.escape(end)}", path.read_text(), maxsplit=2)
    numbers = set(re.findall(r'\b([A-Z_]{3,})(?:\[\])? = "?[0-9]', description)) or set(
        re.findall(r'(\w+)="[^"]*[0-9](?:[MGk]Bps|us)"', description)
    ) | {"memory_bytes"}
    numbers |= {
        name for name in ("topo_parameters", "smpi/os") if f'{name}"' in description or f"{name}=" in description
    }
    assert len(numbers) >= 3
    for name in numbers - {"bb_lat"}:  # SimGrid demands one
        assert name in comment, name


@pytest.mark.usefixtures("simulated_kernel")  # skips where SimGrid is not
def test_reframe_runs_the_simulated_site_like_any_other(reframe):
    """Needs the compiler to be found by the environment, the launcher by the partition, and the log to say what it
    is."""
    options = ("--system=simulated:sr8000-round-robin", "-r", "-S", "builder=cmake", "-n", "num_processes=24$")
    session = reframe(*options, config=SITE / "settings.py")
    assert session.returncode == 0, session.output
    [case] = session.cases
    assert (case["system"], case["partition"], case["num_processes"]) == ("simulated", "sr8000-round-robin", 24)
    assert "simulated" in case["qualifications"].split(",")
    assert case["reference_status"] == "reference for every metric", "and it passed"
    [log] = reframe.folder.glob("output/**/b_eff.jsonl")
    assert of_kind(log, "run")[0]["environment"]["SMPI_MODEL_OF"] == "Hitachi SR 8000 round-robin"


def test_site_without_simgrid_names_the_package(tmp_path):
    done = run([sys.executable, SITE / "run", "-np", "2", "--platform", "t3e", "true"], env={"PATH": str(tmp_path)})
    assert done.returncode != 0
    assert "libsimgrid-dev" in done.stderr
