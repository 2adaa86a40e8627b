# SPDX-License-Identifier: Apache-2.0
"""What every log must contain to yield a score, whatever the benchmark.

A problem is the name of an invariant of docs/log.md that the log does not keep, and a sentence, or the record that does
not keep it: then the text of the invariant is the sentence. The functions are generators of problems; they yield the
most serious one first, and what they compute does not grow with a number that a log merely states.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from math import isclose
from operator import attrgetter
from typing import Any, NamedTuple

from coffeecup.postprocess.logs.counter_kinds import KINDS
from coffeecup.postprocess.logs.counter_records import Counters
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Kind, Log
from coffeecup.postprocess.logs.records import (
    MOST_BYTES,
    Activity,
    Clocks,
    Files,
    Host,
    Overhead,
    Overlap,
    Record,
    Run,
    kind_of,
)

Problem = tuple[str, str | Record]

OVERHEAD = 2  # after run and plan
PHASES = ["idle", "run"]  # of the records `counters`
SLACK_SECONDS, SLACK_SHARE = 1.0, 0.01  # between two clocks, or a counter of ticks and a clock
ROUNDING = 1e-9  # relative
EDITED = f"the log was edited, or its kernel is faulty; {RUN_AGAIN}"


def problems_of_log(log: Log, *single: type[Record]) -> Iterator[Problem]:
    """What all benchmarks have in common. `single` are the kinds of records that must occur exactly once."""
    yield from problems_of_single(log, *single)
    yield from problems_of_single(log, Files, Clocks, times=0 if log.run.simulated else 1)
    if (log.run.provenance.preloaded is None) != log.run.simulated:
        yield "preloaded", f"the log does not state which libraries were preloaded, or a simulation does; {EDITED}"
    yield from problems_of_places(log)
    yield from problems_of_hosts(log.run)
    yield from problems_of_cores(log.run)
    yield from problems_of_memory(log.run)
    yield from problems_of_end(log)
    yield from problems_of_activity(log)
    yield from problems_of_counters(log)


def problems_of_single(log: Log, *kinds: type[Record], times: int = 1) -> Iterator[Problem]:
    """Kinds of records that must occur exactly once, or never."""
    for kind in kinds:
        if (count := len(log.all(kind))) != times:
            yield "single", f"{count} {kind_of(kind)} records where {('none', 'one')[times]} belongs; {RUN_AGAIN}"


def problems_of_places(log: Log) -> Iterator[Problem]:
    """The records before and after the measurements."""
    data = [record for kind in (DataCheck, MemoryFill) for record in by_name(log, kind)]
    data.sort(key=lambda record: record.sequence)
    last = [*data, *log.all(Clocks), *log.all(Counters), *log.all(Activity), *log.all(Overlap)]
    behind = [log.end.sequence - number for number in range(len(last), 0, -1)]
    first = [record.sequence for kind in (Overhead, Files) for record in by_name(log, kind)]
    if first != list(range(OVERHEAD, first_place(log))) or [record.sequence for record in last] != behind:
        yield "places", f"the records before or after the measurements are not in their places; {EDITED}"


def first_place(log: Log) -> int:
    """The sequence number of the first record after the common ones."""
    return OVERHEAD + (1 if log.run.simulated else 2)


def by_name(log: Log, kind: type[Record]) -> list[Record]:
    """The records of a kind, also of a class that a benchmark has instead of the common one."""
    return [record for found, records in log.by_class.items() if kind_of(found) == kind_of(kind) for record in records]


def problems_of_hosts(run: Run) -> Iterator[Problem]:
    placed = [rank for host in run.hosts for rank in host.ranks]
    if len(placed) != run.ranks or set(placed) != set(range(len(placed))):
        yield "ranks", f"the hosts' ranks are not 0 to {run.ranks - 1}, each once; {RUN_AGAIN}"
    if [sorted(host.ranks) for host in sorted(run.hosts, key=lambda host: min(host.ranks))] != [
        host.ranks for host in run.hosts
    ]:
        yield "ranks_in_order", f"the hosts or their ranks are not in ascending order; {EDITED}"


def problems_of_cores(run: Run) -> Iterator[Problem]:
    for host in run.hosts:
        if (together := count_cores(host.core_sets)) != host.cores:
            yield "cores", f"{host.name} has {host.cores} cores, its ranks have {together} together; {EDITED}"
        if host.offered_cores < host.cores:
            yield "offered_cores", f"{host.name} offered fewer cores than its ranks had; {EDITED}"
    counts = [count_cores([text]) for host in run.hosts for text in host.core_sets]
    bound = run.mpi.binding_cores_min, run.mpi.binding_cores_max
    if (min(counts), max(counts)) != bound:
        yield "binding", run


def count_cores(core_sets: Iterable[str]) -> int:
    """The number of different processors in sets such as 0-3,8, which cost no memory however large they are."""
    count, end = 0, -1
    for first, last in sorted(_ranges(core_sets)):
        count += max(0, last - max(first, end + 1) + 1)
        end = max(end, last)
    return count


def _ranges(core_sets: Iterable[str]) -> Iterator[tuple[int, int]]:
    for text in filter(None, core_sets):
        for part in text.split(","):
            first, _, last = part.partition("-")
            yield int(first), int(last or first)


def problems_of_memory(run: Run) -> Iterator[Problem]:
    """The option `memory-per-process` of some kernels replaces the memory of the machine."""
    asked = run.options.get("memory-per-process")
    if (asked is not None) != (run.memory_source == "option"):
        yield "memory_source", f"the memory's source is {run.memory_source}, which contradicts the options; {EDITED}"
    found = memory_on_hosts(run.hosts) if run.memory_source != "option" else asked
    if found is not None and run.memory_per_process_bytes != found:
        yield "memory", run


def memory_on_hosts(hosts: list[Host]) -> int:
    """Memory per process in byte, on the host that has least."""
    return min(host.memory_bytes // len(host.ranks) for host in hosts)


def problems_of_end(log: Log) -> Iterator[Problem]:
    end = log.end
    if (end.reason, end.rank, end.host) != (None, None, None) or end.end_time is None:
        yield "end", f"the end record of a complete run states a failure, or not when it ended; {EDITED}"


def problems_of_activity(log: Log) -> Iterator[Problem]:
    """Whether the system reports it depends on the machine."""
    found, hosts = log.all(Activity), log.run.hosts
    for kind in (Activity, Overlap):
        if (count := len(log.all(kind))) > 1:
            yield "activity", f"{count} {kind_of(kind)} records where at most one belongs; {RUN_AGAIN}"
    for record in found:
        if len(record.hosts) != len(hosts):
            yield "activity", f"the activity of {len(record.hosts)} hosts, where {len(hosts)} belong; {RUN_AGAIN}"
    for record in found:
        if not log.run.simulated and record.elapsed_seconds > with_slack(log.end.elapsed_seconds):
            yield "activity_time", record
        for host, used in zip(hosts, record.hosts):
            possible = with_slack(record.elapsed_seconds * host.online_cores)
            if max(used.others_user_seconds, used.stolen_seconds) > possible:
                yield "activity_cores", f"{host.name}: more processor time was used than its cores have; {EDITED}"


def problems_of_counters(log: Log) -> Iterator[Problem]:
    """Simulations have none. A kernel may lack the option."""
    records, asked = log.all(Counters), log.run.options.get("idle-power", 0.0)
    phases = [record.phase for record in records]
    idle_seconds = asked if isinstance(asked, int | float) else -1
    if phases != ([] if log.run.simulated else PHASES if idle_seconds else PHASES[1:]):
        found = " and ".join(phases) or "nothing"
        yield "counters", f"the counters are those of {found}, the option idle-power is {asked!r:.80}; {EDITED}"
    for record in records:
        yield from problems_of_counted(log, record)
        if record.phase == "idle" and not idle_seconds <= record.elapsed_seconds <= with_slack(idle_seconds):
            yield "counters_time", record
        longest = with_slack(log.end.elapsed_seconds), with_slack(record.elapsed_seconds)
        if record.elapsed_seconds > longest[0] or record.longest_seconds > longest[1]:
            yield "counters_time", record


def problems_of_counted(log: Log, record: Counters) -> Iterator[Problem]:
    counters = {source.counter for source in record.sources}
    if unknown := sorted((counters | set(record.absent)) - KINDS.keys()):
        yield "counter_names", f"the counter {unknown[0]!r:.80} is unknown; upgrade coffeecup, or: {EDITED}"
    if both := sorted(counters & set(record.absent)):
        yield "counter_names", f"the counter {both[0]} has a source, and is absent from all nodes; {EDITED}"
    owned = [list(range(len(record.sources))) if each.has is None else each.has for each in record.hosts]
    if (
        len(record.hosts) != len(log.run.hosts)
        or any(len(each.values) != len(own) for each, own in zip(record.hosts, owned))
        or {place for own in owned for place in own} != set(range(len(record.sources)))
    ):
        yield "counter_values", f"the nodes do not have a value for each of their counters; {EDITED}"
        return
    for number in range(len(record.hosts)):
        for source, (start, end, *again) in record.of_host(number):
            if start == end == "absent":
                yield "counter_values", f"a node has no counter {source.counter} of {source.instance}; {EDITED}"
            above = [one for one in (start, end) if isinstance(one, int) and source.largest and one > source.largest]
            if above or (again and not (source.largest and again[0])):
                yield "counter_largest", f"{source.counter} of {source.instance} is above its largest value; {EDITED}"


def with_slack(seconds: float) -> float:
    return seconds * (1 + SLACK_SHARE) + SLACK_SECONDS


def problems_of_whole_time(log: Log, seconds: float) -> Iterator[Problem]:
    """`seconds` are those of all timed parts of the run. A simulated machine has a clock of its own."""
    if seconds > log.end.elapsed_seconds and not log.run.simulated:
        yield (
            "whole_time",
            f"the timed parts sum up to {seconds:.4g} s, the run took {log.end.elapsed_seconds:.4g} s: its clock is "
            f"not to be trusted; {RUN_AGAIN}",
        )


def problems_of_file_system(log: Log) -> Iterator[Problem]:
    """Of benchmarks that do I/O. `free_bytes` may be those of another node than the other values."""
    if (found := log.run.filesystem) is None:
        yield "file_system", f"the log does not state the file system under test; {RUN_AGAIN}"
        return
    if found.free_bytes > found.total_bytes:
        yield "free_bytes", f"the file system has more bytes free than it has at all; {EDITED}"
    if found.mount_point is not None and not is_below(found.directory, found.mount_point):
        yield "mount", f"the directory is not below the mount point of its file system; {EDITED}"
    if "ro" in found.mount_options:
        yield "mount", f"the file system is mounted read-only, but the run wrote files; {EDITED}"
    if found.fragment_bytes and found.total_bytes < MOST_BYTES and found.total_bytes % found.fragment_bytes:
        yield "fragment_bytes", f"the size of the file system is not a multiple of what it allocates; {EDITED}"


def is_below(directory: str, mount_point: str) -> bool:
    return f"{directory.rstrip('/')}/".startswith(f"{mount_point.rstrip('/')}/")


def problems_of_options(run: Run, planned: Mapping[str, object]) -> Iterator[Problem]:
    """What the plan makes of the options that are named."""
    for name, value in planned.items():
        if not same(run.options[name], value):
            yield (
                "options",
                f"the option {name} is {run.options[name]!r:.80}, the plan or the records say {value!r:.80}; {EDITED}",
            )


def same(stated: object, planned: object, rounding: float = 0.0) -> bool:
    """True is not 1, and null is not 0. `rounding` is the relative error of numbers with a decimal point."""
    if isinstance(stated, float) and isinstance(planned, int | float):
        return isclose(stated, planned, rel_tol=rounding) and not isinstance(planned, bool)
    return stated == planned and isinstance(stated, bool) == isinstance(planned, bool)


def problems_of_reads(check: DataCheck, read_bytes: int, fewest: int, most: int) -> Iterator[Problem]:
    """The data check of a benchmark that reads what it wrote: `read_bytes` by its measurements, of which at least
    `fewest` and not more than `most` were checked."""
    if check.wrong_bytes:
        yield (
            "wrong_bytes",
            f"{check.wrong_bytes} bytes were read wrong; have the file system and the MPI library examined",
        )
    if check.read_bytes != read_bytes:
        yield "read_bytes", f"{check.read_bytes} bytes were read, by the measurements {read_bytes}; {EDITED}"
    if not fewest <= check.checked_bytes <= most:
        yield (
            "checked_bytes",
            f"{check.checked_bytes} bytes were checked of {check.read_bytes} that were read; {RUN_AGAIN}",
        )


class Expected(NamedTuple):
    """A record that the plan requires: its class, what was measured by the names in `kind.key`, and other fields whose
    values follow from the rest of the log."""

    kind: type[Record]
    key: tuple
    fields: Mapping[str, object] = {}


def problems_of_records(log: Log, expected: Iterable[Expected], *kinds: type[Record]) -> Iterator[Problem]:
    """The records of these kinds are those that are expected, in this order. Stops at the first one that is missing or
    not expected, so a large plan costs no memory."""
    for record, wanted in zip_longest(by_sequence(log, *kinds), expected):
        if record is None:
            yield "order", f"{in_words(wanted.kind, wanted.key)} was planned but not measured; {RUN_AGAIN}"
            return
        if wanted is None or (type(record), key_of(record)) != wanted[:2]:
            belongs = f"where {in_words(wanted.kind, wanted.key)} belongs" if wanted else "which was not planned"
            yield (
                "order",
                f"{where(record)}, {belongs}: measurements are missing, repeated or in another order than they were "
                f"made; {RUN_AGAIN}",
            )
            return
        yield from problems_of_fields(record, wanted.fields)


def problems_of_fields(record: Record, planned: Mapping[str, object], part: Any = None) -> Iterator[Problem]:
    """What the fields of a record have to be, or those of a `part` of it that has a name; numbers with a decimal point
    up to a rounding error."""
    for name, value in planned.items():
        if not same(stated := attrgetter(name)(part or record), value, ROUNDING):
            place = f"{where(record)}, {part.name}" if part else where(record)
            yield "planned", f"{place}: {name} is {stated!r:.80} where {value!r:.80} belongs; {EDITED}"


@cache
def key_getter(kind: type[Record]) -> Callable[[Record], Any]:
    return attrgetter(*kind.key) if kind.key else lambda record: ()


def key_of(record: Record) -> tuple:
    """What was measured, by the names in `key` of its class."""
    key = key_getter(type(record))(record)
    return key if len(record.key) != 1 else (key,)


def where(record: Record) -> str:
    """The place of a record and what it is of."""
    return f"line {record.sequence + 1}, {in_words(type(record), key_of(record))}"


def in_words(kind: type[Record], key: tuple) -> str:
    values = ", ".join(f"{name} {'null' if value is None else value}" for name, value in zip(kind.key, key))
    return f"{kind_of(kind)} ({values})" if values else kind_of(kind)


def by_sequence(log: Log, *kinds: type[Kind]) -> list[Kind]:
    """The records of some kinds in the order of the log."""
    return sorted((record for kind in kinds for record in log.all(kind)), key=lambda record: record.sequence)
