# SPDX-License-Identifier: Apache-2.0
"""What every log must contain to yield a score, whatever the benchmark.

A problem is the name of an invariant of docs/log.md that the log does not keep, and a sentence, or the record that does
not keep it: then the text of the invariant is the sentence. The functions are generators of problems; they yield the
most serious one first, and what they compute does not grow with a number that a log merely states.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from msgspec import Struct

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


@dataclass(frozen=True)
class Rules:
    """The rules of a benchmark, all functions of its log, in the order in which they are tried: later ones rely on
    earlier ones.

    Records of the kinds `single` occur once. `of_plan` yields what is wrong with the run and the plan; the `options`
    are those that the plan repeats, and its fields those `planned`. The records of the kinds `measured` are those
    `expected`. `each` has the rules on each record of a kind, functions of the log and the record, and `together`
    yields what several contradict. The timed parts take `seconds`. `reads`, of benchmarks that read what they wrote,
    are the arguments of problems_of_reads."""

    single: tuple[type[Record], ...]
    measured: tuple[type[Record], ...]
    expected: Callable[[Any], Iterable["Expected"]]
    seconds: Callable[[Any], float]
    of_plan: Callable[[Any], Iterable[Problem]] = lambda log: ()
    planned: Callable[[Any], Mapping[str, object]] = lambda log: {}
    options: Callable[[Any], Mapping[str, object]] = lambda log: {}
    each: Mapping[Any, Callable[[Any, Any], Iterable[Problem]]] = field(default_factory=dict)
    together: Callable[[Any], Iterable[Problem]] = lambda log: ()
    reads: Callable[[Any], tuple[int, int, int]] | None = None

    def problems(self, log: Log) -> Iterator[Problem]:
        """The problems that make a log unusable, the most serious first."""
        yield from problems_of_log(log, Overhead, *self.single)
        if self.reads:
            yield from problems_of_file_system(log)
        yield from self.of_plan(log)
        yield from problems_of_options(log.run, self.options(log))
        yield from problems_of_fields(log.plan, self.planned(log))
        yield from problems_of_records(log, self.expected(log), *self.measured)
        for kind, rules in self.each.items():
            for record in log.all(kind):
                yield from rules(log, record)
        yield from self.together(log)
        yield from problems_of_whole_time(log, self.seconds(log))
        if self.reads:
            yield from problems_of_reads(log.only(DataCheck), *self.reads(log))


def broken(record: Record, kept: Mapping[str, object]) -> Iterator[Problem]:
    """The rules that a record does not keep; `kept` has the name of each, and whether the record keeps it."""
    if all(kept.values()):  # as nearly always
        return iter(())
    return ((name, record) for name, keeps in kept.items() if not keeps)


def problems_of_log(log: Log, *single: type[Record]) -> Iterator[Problem]:
    """What all benchmarks have in common. `single` are the kinds of records that must occur exactly once."""
    yield from problems_of_single(log, *single)
    yield from problems_of_single(log, Files, Clocks, times=0 if log.run.simulated else 1)
    yield from problems_of_places(log)
    yield from problems_of_hosts(log.run)
    end = log.end
    yield from broken(end, {"end": (end.reason, end.rank, end.host) == (None, None, None) and end.end_time is not None})
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
    """Their ranks, cores and memory. The option `memory-per-process` of some kernels replaces their memory."""
    hosts, asked = run.hosts, run.options.get("memory-per-process")
    ranks, first = [rank for host in hosts for rank in host.ranks], [host.ranks[0] for host in hosts]
    bound = [count_cores([text]) for host in hosts for text in host.core_sets]
    memory = memory_on_hosts(hosts) if run.memory_source != "option" else asked
    kept = {
        "preloaded": (run.provenance.preloaded is None) == run.simulated,
        "ranks": len(ranks) == run.ranks and set(ranks) == set(range(len(ranks))),
        "ranks_in_order": first == sorted(first) and all(host.ranks == sorted(host.ranks) for host in hosts),
        "cores": all(count_cores(host.core_sets) == host.cores for host in hosts),
        "offered_cores": all(host.offered_cores >= host.cores for host in hosts),
        "binding": (min(bound), max(bound)) == (run.mpi.binding_cores_min, run.mpi.binding_cores_max),
        "memory_source": (asked is not None) == (run.memory_source == "option"),
        "memory": memory in (None, run.memory_per_process_bytes),
    }
    yield from broken(run, kept)


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


def memory_on_hosts(hosts: list[Host]) -> int:
    """Memory per process in byte, on the host that has least."""
    return min(host.memory_bytes // len(host.ranks) for host in hosts)


def problems_of_activity(log: Log) -> Iterator[Problem]:
    """Whether the system reports it depends on the machine."""
    hosts, longest = log.run.hosts, math.inf if log.run.simulated else with_slack(log.end.elapsed_seconds)
    for kind in (Activity, Overlap):
        if (count := len(log.all(kind))) > 1:
            yield "activity", f"{count} {kind_of(kind)} records where at most one belongs; {RUN_AGAIN}"
    for record in log.all(Activity):
        kept = {
            "activity": len(record.hosts) == len(hosts),
            "activity_time": record.elapsed_seconds <= longest,
            "activity_cores": all(
                max(used.others_user_seconds, used.stolen_seconds)
                <= with_slack(record.elapsed_seconds * host.online_cores)
                for host, used in zip(hosts, record.hosts)
            ),
        }
        yield from broken(record, kept)


def problems_of_counters(log: Log) -> Iterator[Problem]:
    """Simulations have none. A kernel may lack the option."""
    records, asked = log.all(Counters), log.run.options.get("idle-power", 0.0)
    idle = asked if isinstance(asked, int | float) else -1
    phases = [] if log.run.simulated else PHASES if idle else PHASES[1:]
    if (found := [record.phase for record in records]) != phases:
        found = " and ".join(found) or "nothing"
        yield "counters", f"the counters are those of {found}, the option idle-power is {asked!r:.80}; {EDITED}"
    for record in records:
        yield from problems_of_counted(log, record)
        seconds = record.elapsed_seconds
        in_time = seconds <= with_slack(log.end.elapsed_seconds) and record.longest_seconds <= with_slack(seconds)
        as_asked = record.phase != "idle" or idle <= seconds <= with_slack(idle)
        yield from broken(record, {"counters_time": in_time and as_asked})


def problems_of_counted(log: Log, record: Counters) -> Iterator[Problem]:
    counters, every = {source.counter for source in record.sources}, set(range(len(record.sources)))
    if unknown := sorted((counters | set(record.absent)) - KINDS.keys()):
        yield "counter_names", f"the counter {unknown[0]!r:.80} is unknown; upgrade coffeecup, or: {EDITED}"
    owned = [sorted(every) if host.has is None else host.has for host in record.hosts]
    complete = len(owned) == len(log.run.hosts) and every == set().union(*owned)
    counted = complete and all(len(host.values) == len(own) for host, own in zip(record.hosts, owned))
    yield from broken(record, {"counter_names": not counters & set(record.absent), "counter_values": counted})
    for number in range(len(record.hosts) if counted else 0):
        for source, (start, end, *again) in record.of_host(number):
            above = [one for one in (start, end) if isinstance(one, int) and source.largest and one > source.largest]
            begun = not again or (source.largest and again[0])
            kept = {"counter_values": not start == end == "absent", "counter_largest": begun and not above}
            yield from broken(record, kept)


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
        yield "file_system", log.run
        return
    whole_parts = not (found.fragment_bytes and found.total_bytes < MOST_BYTES) or (
        found.total_bytes % found.fragment_bytes == 0
    )
    below = found.mount_point is None or is_below(found.directory, found.mount_point)
    kept = {
        "free_bytes": all(part.free_bytes <= part.total_bytes for part in (found, found.fullest_target) if part),
        "mount": below and "ro" not in found.mount_options,
        "fragment_bytes": whole_parts,
    }
    yield from broken(log.run, kept)


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
        return math.isclose(stated, planned, rel_tol=rounding) and not isinstance(planned, bool)
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


class Expected(Struct, frozen=True, gc=False):  # logs have many of them
    """A record that the plan requires: its class, what was measured by the names in `kind.key`, and other fields whose
    values follow from the rest of the log."""

    kind: type[Record]
    key: tuple
    fields: Mapping[str, object] | None = None


def problems_of_records(log: Log, expected: Iterable[Expected], *kinds: type[Record]) -> Iterator[Problem]:
    """The records of these kinds are those that are expected, in this order. Stops at the first one that is missing or
    not expected, so a large plan costs no memory."""
    keys = {kind: key_getter(kind) for kind in kinds}
    for record, wanted in zip_longest(by_sequence(log, *kinds), expected):
        if record is None:
            yield "order", f"{in_words(wanted.kind, wanted.key)} was planned but not measured; {RUN_AGAIN}"
            return
        if wanted is None or type(record) is not wanted.kind or keys[wanted.kind](record) != wanted.key:
            belongs = f"where {in_words(wanted.kind, wanted.key)} belongs" if wanted else "which was not planned"
            yield (
                "order",
                f"{where(record)}, {belongs}: measurements are missing, repeated or in another order than they were "
                f"made; {RUN_AGAIN}",
            )
            return
        if wanted.fields:
            yield from problems_of_fields(record, wanted.fields)


def problems_of_fields(record: Record, planned: Mapping[str, object], part: Any = None) -> Iterator[Problem]:
    """What the fields of a record have to be, or those of a `part` of it that has a name; numbers with a decimal point
    up to a rounding error."""
    for name, value in planned.items():
        if not same(stated := attrgetter(name)(part or record), value, ROUNDING):
            place = f"{where(record)}, {part.name}" if part else where(record)
            yield "planned", f"{place}: {name} is {stated!r:.80} where {value!r:.80} belongs; {EDITED}"


@cache
def key_getter(kind: type[Record]) -> Callable[[Record], tuple]:
    if len(kind.key) > 1:
        return attrgetter(*kind.key)
    return lambda record: tuple(getattr(record, name) for name in kind.key)


def key_of(record: Record) -> tuple:
    """What was measured, by the names in `key` of its class."""
    return key_getter(type(record))(record)


def where(record: Record) -> str:
    """The place of a record and what it is of."""
    return f"line {record.sequence + 1}, {in_words(type(record), key_of(record))}"


def in_words(kind: type[Record], key: tuple) -> str:
    values = ", ".join(f"{name} {'null' if value is None else value}" for name, value in zip(kind.key, key))
    return f"{kind_of(kind)} ({values})" if values else kind_of(kind)


def by_sequence(log: Log, *kinds: type[Kind]) -> list[Kind]:
    """The records of some kinds in the order of the log."""
    return sorted((record for kind in kinds for record in log.all(kind)), key=attrgetter("sequence"))
