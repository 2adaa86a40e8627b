# SPDX-License-Identifier: Apache-2.0
"""b_eff over a link whose bandwidth is known: two hosts that are network namespaces, joined by a cable (veth) with a
shaper (tc tbf) at each end, and Open MPI's TCP across it. What b_eff says must be what the link carries.

The shaper lets Ethernet frames pass at RATE. A full TCP segment on a link with an MTU of 1500 byte is a frame of 1514
byte (14 of Ethernet; checksum and preamble never reach a shaper) with 1448 byte of data: 20 are of IP, 20 of TCP and 12
of its time stamps. So 1448 / 1514 of the rate are left for messages. Acknowledgements of 66 byte travel against the
data: one for every second full segment at most, so 66 / 3028 of the rate at most where both directions are busy.
"""

import os
import subprocess
from contextlib import contextmanager
from itertools import count

import pytest
from builds import OPEN_MPI, PATIENCE
from kernel_runs import good, run
from links import DATA, FRAME, across, links
from rates import RUNS, about, assert_rates
from raw_log import read_log

from coffeecup.postprocess.benchmarks import scoring
from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import examination

pytestmark = pytest.mark.rate
RATE = 160e6 / 8  # byte/s on the link, each way: little work for the cores that both hosts share
BURST = 64 * 1024  # byte that pass at once after a pause: less than 2 % of a message of L_max
PAYLOAD = RATE * DATA / FRAME
L_MAX = 4 * 2**20
WITHIN = 0.03


@pytest.fixture(scope="module")
def two():
    with links(2, RATE, BURST) as made:
        yield made


def measured(openmpi, two, folder, log):
    """Bandwidths at L_max in byte/s, by pattern: the best of all loops of any averaged method."""
    options = {"log": log, "memory-per-process": 128 * L_MAX, "repetitions": 1, "time-budget": 20}
    options |= {"patterns": "ring,ping_pong", "methods": "nonblocking,blocking"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = across(two, openmpi.mpirun, folder, 2 * L_MAX, openmpi.bin / "b_eff", *words)
    good(run(command, env=os.environ | OPEN_MPI))
    complete = read_log(log)
    assert {host["name"] for host in complete.run["hosts"]} == set(two.hosts), "the ranks are not on two hosts"
    assert complete.plan["l_max_bytes"] == L_MAX
    messages = {pattern["name"]: pattern["messages_per_exchange"] for pattern in complete.plan["patterns"]}
    best = {}
    for record in complete.records["measurement"]:
        if record["message_bytes"] == L_MAX:
            name = record["pattern"]
            moved = L_MAX * messages[name] * record["loop_length"]
            best[name] = max(best.get(name, 0), moved / record["elapsed_seconds"])
    return best


def test_bandwidths_at_l_max_are_those_of_the_link(openmpi, two, tmp_path):
    """A ping-pong uses one direction at a time; in a ring of two both are busy, and acknowledgements take their
    share."""
    most, least = 2 * PAYLOAD, 2 * PAYLOAD * (1 - 66 / (2 * 1514 + 66))
    logs = (tmp_path / f"{number}.jsonl" for number in count())
    assert_rates(
        lambda: measured(openmpi, two, tmp_path, next(logs)),
        {
            "ping-pong": about(PAYLOAD, WITHIN),
            **{f"ring-{k}": (least * (1 - WITHIN), most * (1 + WITHIN)) for k in range(1, 7)},
        },
    )


# --- a slow link among several ----------------------------------------------------------------------------------------

HOSTS, SLOW, SHARE = 4, 2, 0.5
MEMORY = 16 * 2**20  # messages of up to 128 KiB
BRIEF = ["--patterns", "ping_pong", "--methods", "blocking", "--repetitions", "1", "--matchings", "8"]
SHORT_LOOPS = ["--first-loop-length", "1", "--longest-loop", "20"]


def examined(openmpi, four, folder, cores=None):
    """The nodes of a run of b_eff with a process on each host."""
    log = folder / f"{len(list(folder.iterdir()))}.jsonl"
    options = ["--log", log, "--memory-per-process", MEMORY, *BRIEF, *SHORT_LOOPS]
    command = across(four, openmpi.mpirun, folder, 2**20, openmpi.bin / "b_eff", *options, cores=cores)
    subprocess.run(command, env=os.environ | OPEN_MPI, capture_output=True, timeout=PATIENCE, check=True)
    return examination(scoring.read_log(log))


def test_the_host_on_the_slow_link_is_named_and_confirmed_and_no_other(openmpi, tmp_path):
    """A run that others disturb may leave the host unconfirmed, or its effect too small (rates.py); no run may confirm
    another host."""
    with links(HOSTS, RATE / 2, 16 * 1024) as four:
        assert not examined(openmpi, four, tmp_path).nodes["confirmed"].any()
        four.shape(SLOW, SHARE * RATE / 2)
        for _ in range(RUNS):
            nodes = examined(openmpi, four, tmp_path).nodes
            confirmed = nodes[nodes["confirmed"]]
            assert set(confirmed["node"]) <= {four.hosts[SLOW]}
            if list(confirmed["ratio"]) == [pytest.approx(SHARE, rel=0.15)]:
                return
    pytest.fail(f"never confirmed with half the bandwidth:\n{nodes.to_string()}")


@contextmanager
def busy(core):
    """A program of higher priority keeps the core busy, so that a process that shares it waits for its turn."""
    with subprocess.Popen(
        ["taskset", "--cpu-list", str(core), "nice", "--10", "sh", "-c", "while :; do :; done"]
    ) as one:
        try:
            yield
        finally:
            one.kill()


@pytest.mark.prove
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_the_host_whose_core_is_shared_is_named_and_confirmed_and_no_other(openmpi, tmp_path):
    """All links are equal; one host's process shares its core with another program, the others do not."""
    free, shared = sorted(os.sched_getaffinity(0))[:2]
    cores = [shared if host == SLOW else free for host in range(HOSTS)]
    with links(HOSTS, RATE / 2, 16 * 1024) as four:
        assert not examined(openmpi, four, tmp_path, cores).nodes["confirmed"].any()
        with busy(shared):
            for _ in range(RUNS):
                nodes = examined(openmpi, four, tmp_path, cores).nodes
                confirmed = list(nodes["node"][nodes["confirmed"]])
                assert set(confirmed) <= {four.hosts[SLOW]}
                if confirmed:
                    return
    pytest.fail(f"never confirmed, although its core was shared:\n{nodes.to_string()}")
