# SPDX-License-Identifier: Apache-2.0
"""b_eff over a link whose bandwidth is known: two hosts that are network namespaces, joined by a cable (veth) with a
shaper (tc tbf) at each end, and Open MPI's TCP across it. What b_eff says must be what the link carries.

The shaper lets Ethernet frames pass at RATE. A full TCP segment on a link with an MTU of 1500 byte is a frame of 1514
byte (14 of Ethernet; checksum and preamble never reach a shaper) with 1448 byte of data: 20 are of IP, 20 of TCP and 12
of its time stamps. So 1448 / 1514 of the rate are left for messages. Acknowledgements of 66 byte travel against the
data: one for every second full segment at most, so 66 / 3028 of the rate at most where both directions are busy.
"""

import os
import shutil
import subprocess
import uuid
from contextlib import contextmanager
from itertools import count

import pytest
from builds import OPEN_MPI, PATIENCE
from rates import about, assert_rates
from raw_log import read_log

pytestmark = pytest.mark.rate
RATE = 160e6 / 8  # byte/s on the link, each way: little work for the cores that both hosts share
BURST = 64 * 1024  # byte that pass at once after a pause: less than 2 % of a message of L_max
PAYLOAD = RATE * 1448 / 1514
L_MAX = 4 * 2**20
WITHIN = 0.03


def root(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(
            f"a link of known bandwidth needs network namespaces and traffic control: {' '.join(command)}: "
            f"{done.stderr.strip()}"
        )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Two namespaces with an address each; the remote shell that Open MPI uses between them."""
    if os.geteuid() != 0:
        pytest.skip("only root may make network namespaces")
    for command in ("ip", "tc", "unshare"):
        if not shutil.which(command):
            pytest.skip(f"no {command} on this machine")
    with linked_namespaces() as names:
        yield {name: f"10.231.7.{number}" for number, name in enumerate(names, 1)}


@contextmanager
def linked_namespaces():
    mark = uuid.uuid4().hex[:6]
    names = [f"cup{mark}a", f"cup{mark}b"]
    try:
        for name in names:
            root("ip", "netns", "add", name)
        root(
            "ip", "link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "name", "veth0", "netns", names[1]
        )
        for number, name in enumerate(names, 1):
            inside = ("ip", "netns", "exec", name)
            root(*inside, "ip", "address", "add", f"10.231.7.{number}/24", "dev", "veth0")
            root(*inside, "ip", "link", "set", "veth0", "mtu", "1500", "up")
            root(*inside, "ip", "link", "set", "lo", "up")
            # the link stays busy while a process waits for a core, and after a pause
            for setting in (
                "tcp_rmem=4096 8388608 8388608",
                "tcp_wmem=4096 8388608 8388608",
                "tcp_slow_start_after_idle=0",
            ):
                root(*inside, "sysctl", "-q", "-w", f"net.ipv4.{setting}")
            root(
                *inside,
                "tc",
                "qdisc",
                "add",
                "dev",
                "veth0",
                "root",
                "tbf",
                "rate",
                f"{RATE * 8:.0f}bit",
                "burst",
                str(BURST),
                "latency",
                "50ms",
            )
        yield names
    finally:
        for name in names:
            pids = subprocess.run(
                ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
            ).stdout.split()
            subprocess.run(["kill", "-9", *pids], capture_output=True, check=False) if pids else None
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@pytest.fixture
def remote_shell(hosts, tmp_path):
    """Open MPI calls it as it would ssh: options, a host, a command."""
    script = tmp_path / "shell"
    cases = "\n".join(f"    {address}) name={name} ;;" for name, address in hosts.items())
    script.write_text(
        "#!/bin/bash\n"
        "while [[ $1 == -* ]]; do shift; done\n"
        f"case $1 in\n{cases}\nesac\nshift\n"
        'exec ip netns exec "$name" unshare --uts bash -c "hostname $name; $*"\n'
    )
    script.chmod(0o755)
    return script


def measured(openmpi, hosts, remote_shell, log):
    """Bandwidths at L_max in byte/s, by pattern: the best of all loops of any averaged method."""
    first = next(iter(hosts))
    network = "10.231.7.0/24"
    parameters = {
        "plm_rsh_agent": str(remote_shell),
        "oob_tcp_if_include": network,
        "btl": "self,vader,tcp",
        "pml": "ob1",
        "btl_tcp_if_include": network,
        # the cores are also those of both kernels' network threads, which waiting processes would starve
        "mpi_yield_when_idle": "1",
        # no handshake per message: the answer of one direction would queue behind the data of the other
        "btl_tcp_eager_limit": str(2 * L_MAX),
        "btl_tcp_max_send_size": str(2 * L_MAX),
    }
    command = [
        "ip",
        "netns",
        "exec",
        first,
        "unshare",
        "--uts",
        "bash",
        "-c",
        f'hostname {first}; exec "$@"',
        "start",
        openmpi.mpirun,
        *(word for name, value in parameters.items() for word in ("--mca", name, value)),
        "--host",
        ",".join(f"{address}:1" for address in hosts.values()),
        "-np",
        "2",
        openmpi.bin / "b_eff",
        "--log",
        log,
        "--memory-per-process",
        str(128 * L_MAX),
        "--patterns",
        "ring,ping_pong",
        "--methods",
        "nonblocking,blocking",
        "--time-budget",
        "40",
    ]
    done = subprocess.run(
        command, env=os.environ | OPEN_MPI, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    complete = read_log(log)
    assert {host["name"] for host in complete.run["hosts"]} == set(hosts), "the ranks are not on two hosts"
    assert complete.plan["l_max_bytes"] == L_MAX
    messages = {pattern["name"]: pattern["messages_per_exchange"] for pattern in complete.plan["patterns"]}
    best = {}
    for record in complete.records["measurement"]:
        if record["message_bytes"] == L_MAX:
            name = record["pattern"]
            moved = L_MAX * messages[name] * record["loop_length"]
            best[name] = max(best.get(name, 0), moved / record["elapsed_seconds"])
    return best


def test_bandwidths_at_l_max_are_those_of_the_link(openmpi, hosts, remote_shell, tmp_path):
    """A ping-pong uses one direction at a time; in a ring of two both are busy, and acknowledgements take their
    share."""
    most, least = 2 * PAYLOAD, 2 * PAYLOAD * (1 - 66 / (2 * 1514 + 66))
    logs = (tmp_path / f"{number}.jsonl" for number in count())
    assert_rates(
        lambda: measured(openmpi, hosts, remote_shell, next(logs)),
        {
            "ping-pong": about(PAYLOAD, WITHIN),
            **{f"ring-{k}": (least * (1 - WITHIN), most * (1 + WITHIN)) for k in range(1, 7)},
        },
    )
