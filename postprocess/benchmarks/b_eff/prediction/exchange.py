# SPDX-License-Identifier: Apache-2.0
"""One exchange of a pattern on a described machine: how its messages load processes, nodes and the network."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff.prediction.patterns import Messages
from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.designs.routes import NO_LOAD, Load, most
from coffeecup.postprocess.logs.reader import Log

HEADER = 16  # byte with each message, as SimGrid's SMPI adds them
MEMORY, NETWORK = KINDS = ("memory", "network")  # messages inside nodes, and between them


@dataclass(frozen=True)
class Exchange:
    """`loads` has the busiest link of each kind of message that the pattern has. `each` is the most messages that a
    process sends, `hops` the most network links on a path."""

    messages: int
    each: int
    loads: dict[str, Load]
    hops: int

    def limit(self, message_bytes: int) -> str:
        """The link that takes longest for messages of this length."""
        busiest = max(self.loads.values(), key=lambda load: load.seconds_per_byte * message_bytes)
        return busiest.link if busiest.seconds_per_byte else "software time"


@dataclass(frozen=True)
class Places:
    """The node of each rank, and the number of its adapter on that node."""

    node: np.ndarray
    adapter: np.ndarray


def placed(machine: Machine, processes: int) -> Places:
    """Block: a node is filled before the next one begins. Round-robin: each node is given one process in turn."""
    nodes = -(-processes // machine.per_node)
    rank = np.arange(processes)
    if machine.design.placement == "block":
        node, local = rank // machine.per_node, rank % machine.per_node
    else:
        node, local = rank % nodes, rank // nodes
    return Places(node, local * machine.nics // machine.per_node)


def logged(machine: Machine, log: Log) -> Places:
    """Where the ranks of a log were. Its hosts are the first nodes, in the order of the log."""
    node, local = (np.zeros(log.run.ranks, dtype=int) for _ in range(2))
    for number, host in enumerate(log.run.hosts):
        node[host.ranks], local[host.ranks] = number, np.arange(len(host.ranks))
        local[host.ranks] = local[host.ranks] * machine.nics // len(host.ranks)
    return Places(node, local)


def exchange(machine: Machine, processes: int, messages: Messages, places: Places | None = None) -> Exchange:
    """The loads of a pattern; `places` where it is not the machine's own placement."""
    at = places or placed(machine, processes)
    source, target = at.node[messages.source], at.node[messages.target]
    inside = source == target
    ends = _process_load(machine, processes, messages)
    loads, hops = {}, 0
    if inside.any():
        loads[MEMORY] = _most(ends, most(np.bincount(source[inside]), machine.shared_memory, "memory of node {}"))
    if not inside.all():
        away = ~inside
        loads[NETWORK] = _most(
            ends,
            *_adapter_loads(machine, at, messages.source[away], messages.target[away]),
            machine.network.busiest(source[away], target[away]),
        )
        hops = machine.network.longest(source[away], target[away]) if machine.hop_latency else 0
    return Exchange(len(messages.source), messages.each, loads, hops)


def _process_load(machine: Machine, processes: int, messages: Messages) -> Load:
    """A process has to send or to receive its messages, and both together."""
    if machine.process == machine.process_total == np.inf:
        return NO_LOAD
    sent, received = (np.bincount(ends, minlength=processes) for ends in (messages.source, messages.target))
    return _most(
        most(np.maximum(sent, received), machine.process, "process {}"),
        most(sent + received, machine.process_total, "process {}, both ways"),
    )


def _adapter_loads(machine: Machine, at: Places, senders: np.ndarray, receivers: np.ndarray) -> Iterator[Load]:
    for way, ranks in (("out of", senders), ("into", receivers)):
        adapter = at.node[ranks] * machine.nics + at.adapter[ranks]
        load = most(np.bincount(adapter), machine.nic, "{}")
        node, number = divmod(int(load.link), machine.nics)
        which = f"adapter {number} of node {node}" if machine.nics > 1 else f"the adapter of node {node}"
        yield load._replace(link=f"{way} {which}")


def _most(*loads: Load) -> Load:
    return max(loads, key=lambda load: load.seconds_per_byte)
