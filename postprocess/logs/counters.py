# SPDX-License-Identifier: Apache-2.0
"""What the nodes counted during a run: from the readings in a log to differences, qualifications and energy.

Nothing is assumed of a counter that cannot be compared with itself: its difference is unknown, with a reason.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coffeecup.postprocess.logs.counter_kinds import KINDS
from coffeecup.postprocess.logs.counter_records import Counters, CounterSource
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host

ERRORS = {  # keys of qualifications
    "port_errors": "Errors on network ports during the run",
    "retransmissions": "Packets were sent again during the run",
    "memory_errors": "Memory errors during the run",
    "throttled": "Processors were too hot and ran slower during the run",
    "swapped": "Nodes swapped memory to disk during the run",
}
FORBIDDEN = "must not be read"  # a reason that is no result of the run
MOST_NAMED = 3  # counters of a node in a sentence


@dataclass(frozen=True)
class Change:
    """What one counter of a node counted. `difference` is None if it is not known, and `reason` says why."""

    host: Host
    source: CounterSource
    difference: int | None
    reason: str = ""

    @property
    def readable(self) -> bool:
        return self.reason != FORBIDDEN

    @property
    def error(self) -> str:
        return KINDS[self.source.counter].error

    @property
    def name(self) -> str:
        counter = re.sub("^(infiniband|network|cxi|edac|memory)_", "", self.source.counter)
        return f"{counter} of {self.source.instance}" if self.source.instance else counter


def counters_of(log: Log, phase: str = "run") -> Counters | None:
    """What the nodes counted in a phase; None if the log does not state it, as in simulations."""
    return next((record for record in log.all(Counters) if record.phase == phase), None)


def changes_of_hosts(log: Log, phase: str = "run") -> list[list[Change]]:
    """Of each node all counters that it has; empty if the log has no counters."""
    record = counters_of(log, phase)
    if record is None:
        return []
    return [
        [
            Change(host, source, *difference(source, readings))
            for source, readings in record.of_host(number)
            if KINDS[source.counter].counts
        ]
        for number, host in enumerate(log.run.hosts)
    ]


def changes(log: Log) -> list[Change]:
    """Of all nodes of the run."""
    return [change for own in changes_of_hosts(log) for change in own]


def difference(source: CounterSource, readings: Sequence[int | str]) -> tuple[int | None, str]:
    """What was counted between two readings, None and a reason if that is not known.

    The third of `readings` is how often the counter was seen to begin again at 0. It counts in steps of more than one,
    so its range is that of `largest`, and at most one step is lost each time."""
    start, end, *again = readings
    for reading, meaning in ((start, "appeared"), (end, "vanished")):
        if reading == "absent":
            return None, f"{meaning} during the run"
    for reading in (start, end):
        if isinstance(reading, str):
            return None, FORBIDDEN if reading == "forbidden" else "is not a number"
    start, end = int(start), int(end) + sum(map(int, again)) * (source.largest or 0)
    if start == KINDS[source.counter].stops_at:
        return None, "had stopped at its largest value before the run"
    return (end - start, "") if end >= start else (None, "went backwards during the run")


def of_counters(log: Log) -> Iterator[tuple[str, str]]:
    """Qualifications by what the nodes counted."""
    found = changes(log)
    for key, text in ERRORS.items():
        if counted := [change for change in found if change.error == key and change.difference]:
            yield key, f"{text}: {places(counted)}"
    if lost := [change for change in found if change.error and change.difference is None and change.readable]:
        yield (
            "errors_unknown",
            f"Errors were not counted during the whole run: {lost[0].name} on {lost[0].host.name} {lost[0].reason}"
            f"{others(len({change.host.name for change in lost}) - 1)}",
        )


def places(counted: list[Change]) -> str:
    """The node with the most, and how many more there are."""
    by_host: dict[str, list[Change]] = {}
    for change in counted:
        by_host.setdefault(change.host.name, []).append(change)
    worst = max(by_host, key=lambda name: sum(change.difference or 0 for change in by_host[name]))
    ordered = sorted(by_host[worst], key=lambda change: -(change.difference or 0))
    named = ", ".join(f"{change.name} {change.difference}" for change in ordered[:MOST_NAMED])
    more = f" and {len(ordered) - MOST_NAMED} more" if len(ordered) > MOST_NAMED else ""
    return f"{named}{more} on {worst}{others(len(by_host) - 1)}"


def others(count: int) -> str:
    return f", and on {count} more host{'s' * (count > 1)}" if count else ""


def of_root(log: Log) -> Iterator[tuple[str, str]]:
    """The rule that counters are those of the system, for every benchmark."""
    roots = [(host, counted) for record in log.all(Counters) for host, counted in zip(log.run.hosts, record.hosts)]
    if made_up := [(host.name, counted.root) for host, counted in roots if counted.root is not None]:
        name, root = made_up[0]
        yield "counters_root", f"the counters of {name} were read below {root}, not from the system"


def not_counted(log: Log, key: str) -> str:
    """Why a log does not prove that nothing of `key` (ERRORS) was counted on any node, as a sentence; empty if it does.
    Each node must have such a counter, and all of them must be known."""
    found = [change for change in changes(log) if change.error == key]
    if unknown := [change for change in found if change.difference is None]:
        return f"{unknown[0].name} on {unknown[0].host.name} {unknown[0].reason}"
    counted = {change.host.name for change in found}
    missing = [host.name for host in log.run.hosts if host.name not in counted]
    return f"{missing[0]} has no counter of {key.replace('_', ' ')} that was read" if missing else ""
