# SPDX-License-Identifier: Apache-2.0
"""The kinds of platforms that site_configs/simulated/run accepts, and what it says of others. Skipped where SimGrid is
not."""

import os
import re
import signal
import subprocess
import time

import kernel_runs
import pytest
from kernel_runs import of_kind
from simulations import HEADER, SHORT, SITE, memory, platform

MEMORY = memory(256 * 2**20)
RINGS = [*SHORT, "--random-patterns", "1", "--patterns", "ring,random", "--methods", "nonblocking"]


def test_plain_hosts(simulate, tmp_path):
    hosts = "".join(f'<host id="{name}" speed="1Gf">{MEMORY}</host>' for name in "ab")
    route = '<route src="a" dst="b"><link_ctn id="cable" direction="UP"/></route>'
    cable = '<link id="cable" bandwidth="100MBps" latency="20us" sharing_policy="SPLITDUPLEX"/>'
    log = simulate(platform(tmp_path, hosts + cable + route), 2, *RINGS)
    for m in of_kind(log, "measurement"):
        expected = 20e-6 + (m["message_bytes"] + HEADER) / 100e6
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.01), m


@pytest.mark.parametrize(("placement", "messages"), [("sequential", 2), ("round-robin", 8)])
def test_nodes_of_four_cores_behind_one_adapter(simulate, tmp_path, placement, messages):
    """Four nodes whose numbers leave gaps. In a ring of all, one message crosses each border in sequence; in round
    robin all eight messages of a node leave it."""
    cluster = f"""<cluster id="c" prefix="n" suffix="" radical="0-1,5,7-7" speed="1Gf" core="4" bw="1GBps" lat="5us"
        loopback_bw="100GBps" loopback_lat="10us">{MEMORY}</cluster>"""
    log = simulate(platform(tmp_path, cluster), 16, *RINGS, placement=placement, per_node=4)
    [run] = of_kind(log, "run")
    assert [host["name"] for host in run["hosts"]] == ["n0", "n1", "n5", "n7"]
    assert {len(host["ranks"]) for host in run["hosts"]} == {4}
    measured = [m for m in of_kind(log, "measurement") if m["pattern"] == "ring-6"]
    assert len(measured) == 21
    for m in measured:
        expected = 10e-6 + messages * (m["message_bytes"] + HEADER) / 1e9
        assert m["elapsed_seconds"] == pytest.approx(m["loop_length"] * expected, rel=0.02), m


def test_platforms_that_cannot_be_run_are_refused(tmp_path):
    four = "".join(f'<host id="h{n}" speed="1Gf"/>' for n in range(4))
    radical = 'id="c" prefix="" suffix="" radical="a-b"'
    program = tmp_path / "bare.cpp"
    program.write_text("int x;")
    for text, options, said in (
        ("", "-np 2", "has no <host>, <cluster> or <cabinet>"),
        ("<platform", "-np 2", "is not a SimGrid platform in XML"),
        (f'<cluster {radical} bw="1GBps" lat="0us"/>', "-np 2", "is not a SimGrid platform in XML"),
        (None, "-np 2", "does not define HOSTS and MODEL_OF"),
        (four, "-np 4 --placement round-robin --per-node 3", "2 nodes of 3 processes do not fit on 4"),
        (four, "-np 0", "must be at least 1"),
    ):
        made = program if text is None else platform(tmp_path, text)
        done = kernel_runs.run([SITE / "run", *options.split(), "--platform", made, "true"])
        assert done.returncode != 0 and "Traceback" not in done.stderr and said in done.stderr


def test_description_that_simgrid_cannot_simulate_is_one_sentence(simulated_kernel, tmp_path):
    """SimGrid 3.32 crashes on this dragonfly."""
    dragonfly = f"""<cluster id="c" prefix="n" suffix="" radical="0-31" speed="1Gf" topology="DRAGONFLY" lat="0us"
        topo_parameters="4,1;2,1;2,1;2" bw="1GBps" sharing_policy="SPLITDUPLEX">{MEMORY}</cluster>"""
    made, log = platform(tmp_path, dragonfly), tmp_path / "b_eff.jsonl"
    words = [SITE / "run", "-np", "32", "--platform", made, simulated_kernel, "--log", log, *RINGS]
    done = kernel_runs.run(list(map(str, words)))
    if done.returncode == 0:
        pytest.skip("this version of SimGrid simulates the dragonfly on which version 3.32 crashes")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("run: SimGrid ended with SIG") and "it cannot simulate this description" in last
    assert str(made) in last and "Traceback" not in done.stderr
    assert done.returncode == 1 and not log.exists()


def test_kernel_started_outside_a_simulation_is_one_sentence(simulated_kernel):
    for option in ("--version", "--help"):
        done = kernel_runs.run([simulated_kernel, option])
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith("error: this kernel is built for simulations; start it with site_configs/")
        assert done.stderr.count("\n") == 1


def test_progress_is_shown_in_real_time(simulated_kernel, tmp_path):
    """At a terminal, progress is shown at most every 0.2 s. The whole run takes less than that in simulated time, so
    that a clock of the simulation would show it once; the simulation is stopped for a while after that, so that a fast
    machine shows it again."""
    log = tmp_path / "b_eff.jsonl"
    short = [*RINGS, "--memory-per-process", "1MiB"]
    run = ["-np", "32", "--platform", "crossbar", simulated_kernel, "--log", log, *short]
    leader, terminal = os.openpty()
    command = [SITE / "run", *map(str, run)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, start_new_session=True) as started:
        os.close(terminal)
        shown = b""
        while part := read_terminal(leader):
            if b"%" in part and b"%" not in shown:
                os.killpg(started.pid, signal.SIGSTOP)
                time.sleep(0.5)
                os.killpg(started.pid, signal.SIGCONT)
            shown += part
    os.close(leader)
    assert started.returncode == 0, shown
    [end] = of_kind(log, "end")
    assert end["elapsed_seconds"] < 0.2
    percent = [int(number) for number in re.findall(rb"b_eff: +(\d+) %, \d+ s", shown)]
    assert len(percent) > 1 and percent == sorted(percent)


def read_terminal(leader):
    """What was written; nothing once the other end is closed."""
    try:
        return os.read(leader, 65536)
    except OSError:
        return b""
