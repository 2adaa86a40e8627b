# SPDX-License-Identifier: Apache-2.0
"""Described machines for tests of predictions, and their simulation. Round numbers: adapters of 1 GByte/s, 5 us."""

from coffeecup.postprocess.designs.design import machine
from coffeecup.postprocess.designs.simgrid import platform

PLAIN = {"nic": "1GB/s", "latency": "5us", "memory_per_process": "128MiB"}  # L_max is 1 MiB
L_MAX = 2**20
# One exchange says as much as 300: simulated time has no noise. No method is faster than these.
SHORT = ["--longest-loop", "1", "--repetitions", "1", "--random-patterns", "3"]
SHORT += ["--patterns", "ring,random,ping_pong", "--methods", "nonblocking,blocking"]


def made(name="made", **fields):
    return machine(name, {**PLAIN, **fields})


def simulated(simulate, folder, described, processes=None, options=SHORT, change=str):
    """The log of a simulation of a described machine; `change` alters the platform's text."""
    path = folder / "made.cpp"
    path.write_text(change(platform(described, path.stem)))
    placement = {"block": "sequential", "round_robin": "round-robin"}[described.design.placement]
    wanted = processes or described.design.processes
    return simulate(path, wanted, *options, placement=placement, per_node=described.per_node, again=True)
