# SPDX-License-Identifier: Apache-2.0
"""Which sizes (nodes and processes) a check runs at on a partition."""

import os
from dataclasses import dataclass

from reframe.core.exceptions import ReframeError

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.show.words import counted

from .devices import devices_per_node, has_devices
from .partitions import compute_partitions, extras_of, features_of, refuse
from .paths import LOCAL_CONFIGURATION
from .vocabulary import GIVEN, Extra, Feature

NOWHERE = "nowhere"  # the partition of a check for nodes that the system does not have
SMALLEST = 2  # a communication benchmark needs two processes
OVERCOMMITTED = 4  # largest size of a small machine if more processes than cores are allowed
OVERSUBSCRIBE_VARIABLE = "OMPI_MCA_rmaps_base_oversubscribe"  # set by the user if the configuration states no features

TAGS_OF_NODES = {1: "one_node", 2: "two_nodes", 4: "four_nodes"}
EVERY_TAG = {*TAGS_OF_NODES.values(), "smallest", "largest"}


class Size(int):
    """A number of processes on one partition: the same number on two partitions is two sizes, with tags of their own.

    That of 0 processes is for `-S num_nodes=`, and for a partition whose sizes are unknown. One of `-P
    <check>.num_processes=` belongs to no partition: it is for all on which it fits.
    """

    partition = ""

    def __new__(cls, processes, partition=""):
        try:
            size = super().__new__(cls, processes)
        except ValueError:
            raise ReframeError(f"num_processes: {processes!r} is not a number of processes") from None
        size.partition = partition
        return size

    def __eq__(self, other):
        return int(self) == other and self.partition == getattr(other, "partition", self.partition)

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__


@dataclass(frozen=True)
class Room:
    """What a partition offers: nodes, cores on each (0: unknown), and whether it takes more processes than cores."""

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

    def processes(self, size, num_nodes):
        """How many a size starts here, where it may be the one of `-S num_nodes=`; 0 if that is unknown."""
        return (int(size) or (num_nodes or 0) * self.cores_per_node) * bool(self.cores_per_node)

    def nodes_for(self, processes):
        """How many nodes so many processes need, filled one after the other; an overcommitted node is one."""
        return 1 if self.nodes == 1 else -(-processes // self.cores_per_node)

    def misfit(self, processes):
        """Why so many processes cannot run here, empty if they can. More nodes than are known are the user's word."""
        nodes = self.nodes_for(processes)
        if processes < SMALLEST:
            return f"{processes} processes are fewer than {SMALLEST}"
        if self.nodes and processes not in self.listed and (processes > self.capacity or nodes > self.nodes):
            return f"{processes} processes do not fit on {counted(self.nodes, 'node')} of {self.cores_per_node} cores"
        if processes % nodes:
            return f"{processes} processes cannot be spread evenly over {nodes} nodes of {self.cores_per_node} cores"
        return ""

    def tags(self, processes):
        """What the size is here: how many nodes, and whether there is no smaller or larger one."""
        sizes = self.sizes()
        tags = {TAGS_OF_NODES.get(self.nodes_for(processes), "")} - {""}
        return tags | {tag for tag, size in (("smallest", sizes[0]), ("largest", sizes[-1])) if size == processes}


def label(processes):
    """In names of tests and in ReFrame's logs."""
    return int(processes) or GIVEN


def powers_of_two(largest):
    """1, 2, 4, ... up to `largest`."""
    return [1 << exponent for exponent in range(largest.bit_length())]


def room(partition, per_device=False):
    """The room of a ReFrame partition; `per_device`: for one process per accelerator instead of one per core."""
    extras, features = extras_of(partition), features_of(partition)
    local = partition.scheduler.is_local
    nodes = extras.get(Extra.NUM_NODES, 1 if local else 0)
    nodes = min(nodes, extras.get(Extra.MAX_NODES, nodes))
    if per_device:
        return Room(nodes, devices_per_node(partition))
    return Room(
        nodes=nodes,
        cores_per_node=_cores_per_node(partition, local),
        overcommit=Feature.OVERCOMMIT in features
        or (local and not features and os.environ.get(OVERSUBSCRIBE_VARIABLE) == "1"),
        listed=tuple(extras.get(Extra.SIZES, ())),
    )


def _cores_per_node(partition, local):
    known = extras_of(partition).get(Extra.CORES_PER_NODE)
    if known:
        return known
    known = partition.processor.num_cores
    if local:
        usable = len(os.sched_getaffinity(0))
        return min(known, usable) if known else usable
    return known or 0


def missing_sizes(partition, per_device=False):
    """Of a partition whose sizes are unknown: the extras that would state them, each with its meaning."""
    offered = room(partition, per_device)
    missing = {} if offered.nodes or offered.listed else {Extra.NUM_NODES: "the number of nodes"}
    if not offered.cores_per_node and per_device:
        missing[Extra.DEVICES_PER_NODE] = "the number of accelerators of a node"
    elif not offered.cores_per_node:
        missing[Extra.CORES_PER_NODE] = "the number of cores of a node"
    return missing


def unknown(partition, per_device=False):
    """Why the sizes of a partition are unknown, with the remedy; empty if they are known."""
    missing = missing_sizes(partition, per_device)
    if not missing:
        return ""
    of_pbs = partition.scheduler.registered_name in ("pbs", "pbspro") and Extra.NUM_NODES in missing
    queue = "name a queue that runs jobs in `access` (-q NAME; `qstat -Q` lists type Exec), " if of_pbs else ""
    extras = ", ".join(f"{str(extra)!r}: N" for extra in missing)
    return (
        f"partition {partition.fullname!r}: neither its configuration nor its scheduler states "
        f"{' and '.join(missing.values())}; {queue}add extras {{{extras}}}, or "
        f"write an overlay with `coffeecup site overlay`; the extra '{Extra.KERNELS}': [] leaves the partition out"
    )


def sizes_here(per_device=False):
    """Every size of every partition of the system, and for each the one of `-S num_nodes=`. Without partitions it is
    one that fits nowhere: ReFrame warns of a check that has none."""
    partitions = compute_partitions()
    if not any(unknown(partition) or room(partition).sizes() for partition in partitions):
        refuse(
            f"no check runs on {', '.join(partition.fullname for partition in partitions)}: one core is too few for "
            f"{SMALLEST} processes; add the feature '{Feature.OVERCOMMIT}' to the partition, or use "
            f"`-C {LOCAL_CONFIGURATION}`, which has it"
        )
    found = [
        Size(processes, partition.fullname)
        for partition in partitions
        if not per_device or has_devices(partition)
        for processes in (*(() if unknown(partition, per_device) else room(partition, per_device).sizes()), 0)
    ]
    return found or [Size(0, NOWHERE)]


def partitions_of(kernel, per_device=False):
    """The partitions that run this kernel."""
    return [
        partition
        for partition in compute_partitions()
        if kernel in extras_of(partition).get(Extra.KERNELS, (kernel,)) and (not per_device or has_devices(partition))
    ]


def partitions_for(size, kernel, num_nodes=None, per_device=False):
    """The partitions that run this kernel at a size."""
    return [
        partition
        for partition in partitions_of(kernel, per_device)
        if size.partition in ("", partition.fullname)
        and bool(size) != bool(num_nodes or (size.partition and unknown(partition, per_device)))
    ]


def misfit(partition, size, num_nodes=None, per_device=False):
    """Why the partition has no room for a size, empty if it has, or if that is unknown."""
    offered = room(partition, per_device)
    processes = offered.processes(size, num_nodes)
    problem = offered.misfit(processes) if processes else ""
    if not (problem or size) and 0 < offered.nodes < (num_nodes or 0):  # overcommitted, one takes those of several
        problem = f"{num_nodes} nodes were requested, and checks may use {offered.nodes}"
    return f"partition {partition.fullname!r}: {problem}" if problem else ""


def tags_of(partition, size, per_device=False):
    """The tags of a size on a partition: all where the user chose the size, which no mode then leaves out."""
    known = size and not unknown(partition, per_device)
    return room(partition, per_device).tags(size) if known else EVERY_TAG
