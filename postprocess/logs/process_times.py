# SPDX-License-Identifier: Apache-2.0
"""Lists with a time of each process, as the benchmarks that do I/O log them (kernels/common/process_times.h): what in
them has to agree with the rest of a log, and whose times they are. docs/log.md lists the invariants."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.logs.io_records import FileServers, Striping
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import MOST_BYTES, Record, Resolution, Run
from coffeecup.postprocess.logs.rules import EDITED, Problem, where

MOST_PROCESSES_EACH = 4096  # in larger runs each node has a time, that of its slowest process
ROUNDED = 6e-4  # relative: the times have four significant digits


def problems_of_resolution(run: Run, resolution: Resolution) -> Iterator[Problem]:
    """Lists have times of nodes in large runs, otherwise of processes."""
    if resolution != ("node" if run.ranks > MOST_PROCESSES_EACH else "process"):
        yield "process_resolution", f"{run.ranks} processes have no times for each {resolution}; {EDITED}"


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


def problems_of_lists(
    named: str, run: Run, resolution: Resolution, processes: int, *lists: Sequence[float]
) -> Iterator[Problem]:
    """Lists with another number of values than there are processes, or nodes."""
    count = sum(map(len, places_of_nodes(run, resolution, processes)))
    if any(len(values) != count for values in lists):
        yield "process_values", f"{named} does not have a value of each {resolution}; {EDITED}"


def problems_of_slowest(
    named: str, resolution: Resolution, seconds: Sequence[float], slowest: float, fastest: float | None = None
) -> Iterator[Problem]:
    """`slowest` and `fastest` are the times of these processes elsewhere in the log, `fastest` None if it has none."""
    if differ(max(seconds), slowest):
        yield (
            "process_slowest",
            f"{named}: the slowest process needed {max(seconds):.4g} s, by the measurement {slowest:.4g} s; {EDITED}",
        )
    if resolution == "process" and fastest is not None and differ(min(seconds), fastest):
        yield (
            "process_fastest",
            f"{named}: the fastest process needed {min(seconds):.4g} s, by the measurement {fastest:.4g} s; {EDITED}",
        )


def problems_of_files(
    log: Log, record: Record, striping: list[Striping], layout: FileServers | None, own: bool, shared: bool, count: int
) -> Iterator[Problem]:
    """Of the files of a measurement: each of `count` processes has its own one, or they share one, or there are none.
    A `layout` has the servers of the processes' own files."""
    if layout is not None:
        yield from problems_of_servers(where(layout), log.run, log.plan.process_times, own, layout, count)
    yield from problems_of_striping(where(record), striping, count if own else int(shared), shared, layout)


def problems_of_servers(
    named: str,
    run: Run,
    resolution: Resolution,
    of_each: bool,
    record: FileServers,
    processes: int | None = None,
) -> Iterator[Problem]:
    """Each of the first `processes` processes, or of all, has a file of its own (`of_each`) and a time, and each server
    at least one of the files."""
    places = list(dict.fromkeys(record.files))
    if len(record.files) != (processes or run.ranks) or places != list(range(len(record.servers))):
        yield "layout", f"{named} does not have a server of the file of each process; {EDITED}"
    if not of_each or resolution != "process":
        yield "layout", f"{named} has no file of each process, or no times of them; {EDITED}"


def problems_of_striping(
    named: str, striping: Sequence[Striping], files: int, shared: bool, layout: FileServers | None
) -> Iterator[Problem]:
    """The different stripings of so many files; a `layout` has the servers of the processes' own files. A file is on no
    more servers than its parts have stripes, each with a mirror."""
    if not min(files, 1) <= len(striping) <= files or len({repr(one) for one in striping}) != len(striping):
        yield "striping", f"{named} has {files} files and {len(striping)} different stripings of them; {EDITED}"
    if not shared and any(one.server is not None for one in striping):
        yield "striping", f"{named} has no file that processes share, but its server; {EDITED}"
    servers = layout.servers if layout else [one.server for one in striping if one.server is not None]
    most = max((2 * (one.parts or MOST_BYTES) * (one.stripes or 1) for one in striping), default=0)
    if any(len(server.split()) > most for server in servers):
        yield "striping", f"{named} has a file on more servers than it has stripes; {EDITED}"


def differ(rounded: float, exact: float) -> bool:
    """Whether a time of a list, which is rounded to four digits, is another than the exact one."""
    return abs(rounded - exact) > ROUNDED * exact
