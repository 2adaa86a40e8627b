# SPDX-License-Identifier: Apache-2.0
"""Which sizes (nodes and processes) a check runs at on a partition, from the site's configuration."""

import os
from dataclasses import dataclass

from reframe.core.exceptions import ConfigError

from .vocabulary import Extra, Feature

SMALLEST = 2  # a communication benchmark needs two processes
OVERCOMMITTED = 4  # largest size of a small machine if more processes than cores are allowed
OVERSUBSCRIBE_VARIABLE = "OMPI_MCA_rmaps_base_oversubscribe"  # set by the user if the configuration states no features

TAGS_OF_NODES = {1: "one_node", 2: "two_nodes", 4: "four_nodes"}


@dataclass(frozen=True)
class Room:
    """What a partition offers: nodes, cores on each, and whether it takes more processes than cores."""

    nodes: int
    cores_per_node: int
    overcommit: bool = False
    listed: tuple[int, ...] = ()  # sizes that the site chose itself

    @property
    def capacity(self):
        """The largest number of processes that a check starts here."""
        cores = self.nodes * self.cores_per_node
        return max(cores, OVERCOMMITTED) if self.overcommit else cores

    def sizes(self):
        """Numbers of processes, ascending: whole nodes on several, cores on a single one."""
        if self.listed:
            return sorted(self.listed)
        unit, largest = (self.cores_per_node, self.nodes) if self.nodes > 1 else (1, self.capacity)
        counts = {*powers_of_two(largest), largest}
        return sorted(size for size in (count * unit for count in counts) if size >= SMALLEST)


def powers_of_two(largest):
    """1, 2, 4, ... up to `largest`."""
    return [1 << exponent for exponent in range(largest.bit_length())]


def room(partition):
    """The room of a ReFrame partition; raises ConfigError if its configuration lacks the cores."""
    extras = partition.extras
    nodes = int(extras.get(Extra.NUM_NODES, 1))
    return Room(
        nodes=min(nodes, int(extras.get(Extra.MAX_NODES, nodes))),
        cores_per_node=_cores_per_node(partition),
        overcommit=Feature.OVERCOMMIT in partition.features
        or (not partition.features and os.environ.get(OVERSUBSCRIBE_VARIABLE) == "1"),
        listed=tuple(extras.get(Extra.SIZES, ())),
    )


def _cores_per_node(partition):
    if Extra.CORES_PER_NODE in partition.extras:
        return int(partition.extras[Extra.CORES_PER_NODE])
    known = partition.processor.num_cores
    if partition.scheduler.is_local:
        usable = len(os.sched_getaffinity(0))
        return min(known, usable) if known else usable
    if known:
        return known
    raise ConfigError(
        f"the configuration of partition {partition.fullname!r} does not state the cores of a node: "
        f"add extras {{'{Extra.CORES_PER_NODE}': N}}, or processor information"
    )


def compute_partitions(system):
    """The partitions for computing."""
    return [partition for partition in system.partitions if Feature.LOGIN not in partition.features]


def rooms(system, kernel=None):
    """Full name to room, for every partition for computing that runs this kernel."""
    return {
        partition.fullname: room(partition)
        for partition in compute_partitions(system)
        if kernel in (None, *partition.extras.get(Extra.KERNELS, (kernel,)))
    }


def sizes_of(system):
    """Every size that some partition of the system runs at, ascending."""
    return sorted({size for offered in rooms(system).values() for size in offered.sizes()})


def partitions_for(system, size, kernel):
    """Full names of the partitions that run this kernel at this size."""
    return [name for name, offered in rooms(system, kernel).items() if size in offered.sizes()]


def tags_of(system, size, kernel):
    """What the size is on the partitions that run the kernel at it: how many nodes, and whether there is no smaller or
    larger one."""
    running = [offered for offered in rooms(system, kernel).values() if size in offered.sizes()]
    by_nodes = {min(-(-size // offered.cores_per_node), offered.nodes) for offered in running} & TAGS_OF_NODES.keys()
    return {
        *(TAGS_OF_NODES[nodes] for nodes in by_nodes),
        *("smallest" for offered in running if size == offered.sizes()[0]),
        *("largest" for offered in running if size == offered.sizes()[-1]),
    }
