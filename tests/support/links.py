# SPDX-License-Identifier: Apache-2.0
"""Links whose bandwidth is known: hosts that are network namespaces of this machine, each on a cable (veth) to a switch
(a bridge in a namespace of its own) with a shaper (tc tbf) at both ends; and Open MPI's TCP across them.

A shaper lets Ethernet frames pass at its rate. A full TCP segment on a link with an MTU of 1500 byte is a frame of 1514
byte (14 of Ethernet; checksum and preamble never reach a shaper) with 1448 byte of data: 20 are of IP, 20 of TCP and 12
of its time stamps.
"""

import os
import shutil
import subprocess
import uuid
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from builds import OPEN_MPI, PATIENCE, run
from rates import RUNS

NETWORK = "10.231.7"
SWITCH = 254
DATA, FRAME = 1448, 1514
COMMANDS = ("ip", "tc", "nsenter", "sysctl", "unshare")
# The link stays busy while a process waits for a core, and after a pause.
SYSTEM = ("tcp_rmem=4096 8388608 8388608", "tcp_wmem=4096 8388608 8388608", "tcp_slow_start_after_idle=0")


def root(*command):
    done = run([str(word) for word in command])
    if done.returncode != 0:
        needed = "a link of known bandwidth needs network namespaces and traffic control"
        pytest.skip(f"{needed}: {' '.join(command)}: {done.stderr.strip()}")


def missing():
    """Why there can be no such links here, empty if there can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    absent = [command for command in COMMANDS if not shutil.which(command)]
    return f"no {', '.join(absent)} on this machine" if absent else ""


@dataclass(frozen=True)
class Links:
    """`hosts` are the names of the namespaces, in the order of their addresses; `switch` is the bridge's."""

    hosts: tuple[str, ...]
    switch: str
    burst: int

    def enter(self, namespace):
        """The words before a command that runs in this namespace. `ip netns exec` would hide /sys/fs/cgroup."""
        return "nsenter", f"--net=/run/netns/{namespace}"

    def address(self, number):
        return f"{NETWORK}.{number + 1}"

    def shape(self, number, rate):
        """From now on this host's cable carries `rate` byte/s each way."""
        shaper = ("root", "tbf", "rate", f"{8 * rate:.0f}bit", "burst", str(self.burst), "latency", "200ms")
        for namespace, device in ((self.hosts[number], "eth"), (self.switch, f"port{number}")):
            root(*self.enter(namespace), "tc", "qdisc", "replace", "dev", device, *shaper)

    def lose(self, number, share):
        """From now on this share of the packets that this host sends is lost on its cable, which no sender notices. A
        classic BPF program drops a packet unless a random number is greater than the share of its range."""
        port, random_word = f"port{number}", 2**32 - 0x1000 + 56  # SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h
        program = f"4,32 0 0 {random_word},37 0 1 {int(share * 2**32)},6 0 0 {2**32 - 1},6 0 0 2"
        enter = self.enter(self.switch)
        root(*enter, "tc", "qdisc", "replace", "dev", port, "clsact")
        root(
            *enter, *f"tc filter replace dev {port} ingress prio 1 handle 1 bpf direct-action bytecode".split(), program
        )

    def pull(self, number):
        """From now on this host's cable carries nothing, which the host's adapter notices."""
        root(*self.enter(self.switch), "ip", "link", "set", f"port{number}", "down")


@contextmanager
def links(number, rate, burst):
    """Hosts on links of `rate` byte/s each way; `burst` byte pass at once after a pause."""
    if reason := missing():
        pytest.skip(reason)
    mark = uuid.uuid4().hex[:6]
    made = Links(tuple(f"cup{mark}{host}" for host in range(number)), f"cup{mark}s", burst)
    try:
        connect(made)
        for host in range(number):
            made.shape(host, rate)
        yield made
    finally:
        for name in (*made.hosts, made.switch):
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
            subprocess.run(["kill", "-9", *pids.split()], capture_output=True, check=False) if pids else None
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def connect(made):
    switch = made.enter(made.switch)
    for name in (made.switch, *made.hosts):
        root("ip", "netns", "add", name)
        root(*made.enter(name), "ip", "link", "set", "lo", "up")
        for setting in SYSTEM:
            root(*made.enter(name), "sysctl", "-q", "-w", f"net.ipv4.{setting}")
    root(*switch, "ip", "link", "add", "bridge", "type", "bridge")
    root(*switch, "ip", "address", "add", f"{NETWORK}.{SWITCH}/24", "dev", "bridge")
    root(*switch, "ip", "link", "set", "bridge", "mtu", "1500", "up")
    for number, name in enumerate(made.hosts):
        port = f"port{number}"
        root("ip", "link", "add", port, "netns", made.switch, "type", "veth", "peer", "name", "eth", "netns", name)
        root(*switch, "ip", "link", "set", port, "master", "bridge", "mtu", "1500", "up")
        root(*made.enter(name), "ip", "address", "add", f"{made.address(number)}/24", "dev", "eth")
        root(*made.enter(name), "ip", "link", "set", "eth", "mtu", "1500", "up")


def parameters(eager=0):
    """Open MPI's parameters: TCP over the links, with messages of up to `eager` byte in one piece."""
    network = f"{NETWORK}.0/24"
    # no handshake per message: the answer of one direction would queue behind the data of the other
    sizes = dict.fromkeys(("btl_tcp_eager_limit", "btl_tcp_max_send_size"), str(eager)) if eager else {}
    tcp = {"oob_tcp_if_include": network, "btl": "self,tcp", "pml": "ob1", "btl_tcp_if_include": network}
    # the cores are also those of all hosts' network threads, which waiting processes would starve
    return {**tcp, "mpi_yield_when_idle": "1", **sizes}


def pinned(core):
    """The words before a command that runs on this core only; none if it may run on any."""
    return [] if core is None else ["taskset", "--cpu-list", str(core)]


def remote_shell(made, folder, cores):
    """Open MPI calls it as it would ssh: options, a host, a command."""
    script = folder / "shell"
    cases = "\n".join(
        f'    {made.address(number)}) name={name} pinned="{" ".join(pinned(cores[number]))}" ;;'
        for number, name in enumerate(made.hosts)
    )
    script.write_text(
        "#!/bin/bash\n"
        "while [[ $1 == -* ]]; do shift; done\n"
        f"case $1 in\n{cases}\nesac\nshift\n"
        'exec $pinned nsenter --net=/run/netns/"$name" unshare --uts bash -c "hostname $name; $*"\n'
    )
    script.chmod(0o755)
    return script


def across(made, mpirun, folder, eager, *command, cores=None):
    """The command that runs a program with one process on each host, those of `cores` on one core each."""
    first, cores = made.hosts[0], cores or [None] * len(made.hosts)
    chosen = {"plm_rsh_agent": str(remote_shell(made, folder, cores)), **parameters(eager)}
    if any(core is not None for core in cores):
        chosen["hwloc_base_binding_policy"] = "none"  # Open MPI would bind processes to more cores again
    return [
        *pinned(cores[0]),
        *made.enter(first),
        *("unshare", "--uts", "bash", "-c", f'hostname {first}; exec "$@"', "start"),
        mpirun,
        *(word for name, value in chosen.items() for word in ("--mca", name, value)),
        *("--host", ",".join(f"{made.address(number)}:1" for number in range(len(made.hosts)))),
        *("-np", str(len(made.hosts))),
        *map(str, command),
    ]


def logs_with_loss(openmpi, folder, share, longest_loop):
    """Logs of up to RUNS runs of b_eff's matchings between four hosts, each with the hosts that lose this share of what
    they send: none in the first one."""
    options = "--patterns ping_pong --methods blocking --repetitions 1 --matchings 12 --memory-per-process 32MiB"
    options += f" --first-loop-length 1 --longest-loop {longest_loop}"
    for number in range(RUNS):
        with links(4, 10e6, 16 * 1024) as four:
            if number:
                four.lose(2, share)
            log = folder / f"{number}.jsonl"
            b_eff = (openmpi.bin / "b_eff", "--log", log, *options.split())
            command = across(four, openmpi.mpirun, folder, 2**20, *b_eff)
            subprocess.run(command, env=os.environ | OPEN_MPI, capture_output=True, timeout=PATIENCE, check=True)
            yield log, {four.hosts[2]} if number else set()
