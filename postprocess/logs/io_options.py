# SPDX-License-Identifier: Apache-2.0
"""The options --read-shift, --fill-memory and --cache-size of the benchmarks that do I/O: what a log must state about
them, and how they qualify the result."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, ReadShift
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Problem, broken
from coffeecup.postprocess.show.units import MIB
from coffeecup.postprocess.show.words import size

RESIDENT_SHARE = 0.99


def problems_of_read_shift(log: Log, sizes: Sequence[int]) -> Iterator[Problem]:
    """`sizes` are the numbers of processes that measured: the first so many ranks. On several nodes, each process can
    read what another node wrote unless one node has more than half of them."""
    hosts, shift = log.run.hosts, log.plan.read_shift
    most = [max(sum(rank < size for rank in host.ranks) for host in hosts) if len(hosts) > 1 else 1 for size in sizes]
    possible = shift == ("node" if len(hosts) > 1 else "process") and all(
        2 * largest <= size for largest, size in zip(most, sizes)
    )
    asked = bool(log.run.options["read-shift"])
    yield from broken(log.plan, {"read_shift": possible if asked else shift is None})


def problems_of_memory_fill(log: Log, after_check: bool) -> Iterator[Problem]:
    """Each node was filled by its share, in whole pages of each process; the memory was released before or after the
    data check."""
    fills, hosts, percent = log.all(MemoryFill), log.run.hosts, log.plan.fill_memory_percent
    stated = [fill.share_percent for fill in fills] == [percent][: bool(percent)]
    yield from broken(log.plan, {"memory_fill": stated and percent == log.run.options["fill-memory"]})
    for fill in fills:
        shares = [(len(host.ranks), host.memory_bytes // 100 * fill.share_percent) for host in hosts]
        sound = len(fill.hosts) == len(hosts) and all(
            share - ranks * MIB < filled.filled_bytes <= share and filled.resident_bytes <= filled.filled_bytes
            for (ranks, share), filled in zip(shares, fill.hosts)
        )
        placed = (fill.sequence > log.only(DataCheck).sequence) == after_check
        yield from broken(fill, {"memory_fill": sound and placed})


def of_read_shift(shift: ReadShift) -> Iterator[tuple[str, str]]:
    """That data was read by another process than the one that wrote it: key and sentence."""
    if shift == "node":
        yield (
            "read_shift",
            "Every process read what a process of another node wrote (--read-shift), which the paper does not "
            "require: compare it only with runs that did the same",
        )
    elif shift == "process":
        yield (
            "read_shift",
            "Every process read what the next process wrote (--read-shift), on the same node and therefore through "
            "the same page cache; the paper does not require it: compare it only with runs that did the same",
        )


def of_memory_fill(log: Log, when: str) -> Iterator[tuple[str, str]]:
    """That memory was filled, and whether it stayed in physical memory: key and sentence. `when` says at what time."""
    for fill in log.all(MemoryFill):
        yield (
            "filled_memory",
            f"{fill.share_percent} % of each node's memory was filled {when} (--fill-memory), which leaves less "
            "room for the page cache; the paper does not require it: compare it only with runs that did the same",
        )
        resident = sum(host.resident_bytes for host in fill.hosts) / sum(host.filled_bytes for host in fill.hosts)
        if resident < RESIDENT_SHARE:
            yield (
                "fill_not_resident",
                f"Only {resident:.1%} of the filled memory was in physical memory when it was released: the page "
                "cache had more room than --fill-memory states. Switch swap space off, or choose a smaller share",
            )


def of_cache_size(log: Log) -> Iterator[tuple[str, str]]:
    """That a smaller cache was stated than the memory, which caches files as well: key and sentence."""
    memory, stated = sum(host.memory_bytes for host in log.run.hosts), log.plan.cache_bytes
    if stated and stated < memory:
        yield (
            "cache_by_option",
            f"The size of the file system's cache, {size(stated)}, was set by an option (--cache-size), not found on "
            f"the machine. Where the nodes' memory of {size(memory)} caches files as well, more of the data may have "
            "come from there",
        )
