# SPDX-License-Identifier: Apache-2.0
"""The options --read-shift and --fill-memory of the benchmarks that do I/O: what a log must state about them, and how
they qualify the result."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.logs.io_records import MemoryFill, ReadShift
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.rules import Problem
from coffeecup.postprocess.show.units import MIB

RESIDENT_SHARE = 0.99


def problems_of_read_shift(log: Log, shift: ReadShift, sizes: Sequence[int]) -> Iterator[Problem]:
    """`sizes` are the numbers of processes that measured: the first so many ranks. On several nodes, each process can
    read what another node wrote unless one node has more than half of them."""
    hosts = log.run.hosts
    if (shift is not None) != bool(log.run.options["read-shift"]):
        yield "read_shift", f"the plan and the options differ on --read-shift; {RUN_AGAIN}"
    if shift is None:
        return
    if shift != ("node" if len(hosts) > 1 else "process"):
        yield "read_shift", f"the plan states a read shift by {shift}, the run had {len(hosts)} nodes; {RUN_AGAIN}"
    for size in sizes:
        largest = max(sum(rank < size for rank in host.ranks) for host in hosts) if len(hosts) > 1 else 1
        if 2 * largest > size:
            yield "read_shift", f"of {size} processes, not each can have read what another {shift} wrote; {RUN_AGAIN}"


def problems_of_memory_fill(log: Log, percent: int | None) -> Iterator[Problem]:
    """Each node was filled by its share, in whole pages of each process."""
    fills, hosts = log.all(MemoryFill), log.run.hosts
    if (
        percent != log.run.options["fill-memory"]
        or [fill.share_percent for fill in fills] != [percent][: bool(percent)]
    ):
        yield "memory_fill", f"the plan, the options and the memory_fill records differ on --fill-memory; {RUN_AGAIN}"
    for fill in fills:
        if len(fill.hosts) != len(hosts):
            yield "memory_fill", fill
        for host, filled in zip(hosts, fill.hosts):
            share = host.memory_bytes // 100 * fill.share_percent
            fits = share - len(host.ranks) * MIB < filled.filled_bytes <= share
            if not fits or filled.resident_bytes > filled.filled_bytes:
                yield "memory_fill", fill


def of_read_shift(shift: ReadShift) -> Iterator[tuple[str, str]]:
    """That data was read by another process than the one that wrote it: key and sentence."""
    if shift == "node":
        yield (
            "read_shift",
            (
                "Every process read what a process of another node wrote (--read-shift), which the paper does not "
                "require: compare it only with runs that did the same"
            ),
        )
    elif shift == "process":
        yield (
            "read_shift",
            (
                "Every process read what the next process wrote (--read-shift), on the same node and therefore through "
                "the same page cache; the paper does not require it: compare it only with runs that did the same"
            ),
        )


def of_memory_fill(log: Log, when: str) -> Iterator[tuple[str, str]]:
    """That memory was filled, and whether it stayed in physical memory: key and sentence. `when` says at what time."""
    for fill in log.all(MemoryFill):
        yield (
            "filled_memory",
            (
                f"{fill.share_percent} % of each node's memory was filled {when} (--fill-memory), which leaves less "
                "room for the page cache; the paper does not require it: compare it only with runs that did the same"
            ),
        )
        resident = sum(host.resident_bytes for host in fill.hosts) / sum(host.filled_bytes for host in fill.hosts)
        if resident < RESIDENT_SHARE:
            yield (
                "fill_not_resident",
                (
                    f"Only {resident:.1%} of the filled memory was in physical memory when it was released: the page "
                    "cache had more room than --fill-memory states. Switch swap space off, or choose a smaller share"
                ),
            )
