# SPDX-License-Identifier: Apache-2.0
"""Lists with a time of each process, as the benchmarks that do I/O log them (kernels/common/process_times.h): what in
them has to agree with the rest of a log, and whose times they are. docs/log.md lists the invariants."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coffeecup.postprocess.logs.io_records import FileServers, Striping
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import MOST_BYTES, Record, Resolution, Run
from coffeecup.postprocess.logs.rules import Problem, broken, key_of

MOST_PROCESSES_EACH = 4096  # in larger runs each node has a time, that of its slowest process
ROUNDED = 6e-4  # relative: the times have four significant digits


def problems_of_resolution(run: Run, resolution: Resolution) -> Iterator[Problem]:
    """Lists have times of nodes in large runs, otherwise of processes."""
    fits = resolution == ("node" if run.ranks > MOST_PROCESSES_EACH else "process")
    yield from broken(run, {"process_resolution": fits})


def ranks_of_nodes(run: Run, processes: int) -> list[list[int]]:
    """The ranks on each host that are among the first `processes`; empty for a host that does not take part."""
    return [[rank for rank in host.ranks if rank < processes] for host in run.hosts]


def places_of_nodes(run: Run, resolution: Resolution, processes: int) -> list[list[int]]:
    """Of each host the places of its values in a list of the first `processes` processes."""
    ranks = ranks_of_nodes(run, processes)
    if resolution == "process":
        return ranks
    places = iter(range(len(ranks)))
    return [[next(places)] if own else [] for own in ranks]


def problems_of_processes(
    log: Log, times: type[Record], measured: type[Record], lists: Mapping[str, tuple[str, ...]], processes=None
) -> Iterator[Problem]:
    """Of the records `times`. `lists` are the names of their lists with those of the times of the slowest process, and
    of the fastest, in the record `measured` with the same key. `processes` is the number of processes that took part, a
    function of the record; of all without it."""
    wholes, resolution = {key_of(record): record for record in log.all(measured)}, log.plan.process_times
    for record in log.all(times):
        whole, values = wholes[key_of(record)], {name: getattr(record, name) for name in lists}
        count = processes(record) if processes else log.run.ranks
        yield from problems_of_lists(record, log.run, resolution, count, *values.values())
        for name, ends in lists.items():
            if ends:
                yield from problems_of_slowest(record, resolution, values[name], *(getattr(whole, end) for end in ends))


def problems_of_lists(
    record: Record, run: Run, resolution: Resolution, processes: int, *lists: Sequence[float]
) -> Iterator[Problem]:
    """Lists with another number of values than there are processes, or nodes."""
    count = sum(map(len, places_of_nodes(run, resolution, processes)))
    yield from broken(record, {"process_values": all(len(values) == count for values in lists)})


def problems_of_slowest(
    record: Record, resolution: Resolution, seconds: Sequence[float], slowest: float, fastest: float | None = None
) -> Iterator[Problem]:
    """`slowest` and `fastest` are the times of these processes elsewhere in the log, `fastest` None if it has none."""
    is_fastest = resolution != "process" or fastest is None or not differ(min(seconds), fastest)
    yield from broken(record, {"process_slowest": not differ(max(seconds), slowest), "process_fastest": is_fastest})


def problems_of_files(
    log: Log, kind: type[Any], layout: type[FileServers], files: Callable[[Any], tuple[int, bool]]
) -> Iterator[Problem]:
    """Of the files of each record of a `kind`: how many processes have a file of their own, and whether they share one.
    The record `layout` with the same key has the servers of the processes' own files."""
    layouts = {key_of(record): record for record in log.all(layout)}
    for record in log.all(kind):
        (own, shared), servers = files(record), layouts.get(key_of(record))
        if servers is not None:
            yield from problems_of_servers(log.run, log.plan.process_times, own, servers)
        yield from problems_of_striping(record, record.striping, own, shared, servers)


def problems_of_servers(run: Run, resolution: Resolution, files: int, record: FileServers) -> Iterator[Problem]:
    """Each of so many `files` is that of a process, which has a time, and each server has at least one of them."""
    places = list(dict.fromkeys(record.files))
    numbered = len(record.files) == files and places == list(range(len(record.servers)))
    yield from broken(record, {"layout": numbered and resolution == "process"})


def problems_of_striping(
    record: Record, striping: Sequence[Striping], own: int, shared: bool, layout: FileServers | None
) -> Iterator[Problem]:
    """The different stripings of the processes' `own` files, or of a shared one. A file is on no more servers than its
    parts have stripes, each with a mirror."""
    files, servers = own or int(shared), [one.server for one in striping if one.server is not None]
    most = max((2 * (one.parts or MOST_BYTES) * (one.stripes or 1) for one in striping), default=0)
    different = min(files, 1) <= len(striping) <= files and len({repr(one) for one in striping}) == len(striping)
    few = all(len(server.split()) <= most for server in (layout.servers if layout else servers))
    yield from broken(record, {"striping": different and few and (shared or not servers)})


def differ(rounded: float, exact: float) -> bool:
    """Whether a time of a list, which is rounded to four digits, is another than the exact one."""
    return abs(rounded - exact) > ROUNDED * exact
