# SPDX-License-Identifier: Apache-2.0
"""The report's part on what the nodes counted, the same for every benchmark."""

from collections.abc import Sequence

from coffeecup.postprocess.logs.counter_kinds import KINDS
from coffeecup.postprocess.logs.counters import Change, changes, counters_of
from coffeecup.postprocess.logs.energy import energy
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, printable, seconds


def section(log: Log) -> dict | None:
    """The values of counters.html.j2; None for a log without counters."""
    record = counters_of(log)
    if record is None:
        return None
    by_counter: dict[str, list[Change]] = {}
    for change in changes(log):
        by_counter.setdefault(change.source.counter, []).append(change)
    used = energy(log)
    telling = {name: found for name, found in by_counter.items() if any(change.difference != 0 for change in found)}
    return {
        "elapsed": seconds(record.elapsed_seconds),
        "energy": energy_sentence(used.covers, used.joules) if used else "",
        "rows": [row(counter, found) for counter, found in telling.items()],
        "nothing": ", ".join(counter for counter in by_counter if counter not in telling),
        "absent": ", ".join(by_family(record.absent)),
    }


def by_family(absent: Sequence[str]) -> list[str]:
    """Names of counters, of a family (the first word) that is absent as a whole only that."""
    families = {}
    for counter in KINDS:
        families.setdefault(counter.partition("_")[0], []).append(counter)
    named = []
    for family, members in families.items():
        missing = [counter for counter in members if counter in absent]
        whole = len(missing) == len(members) > 1
        named += [f"{family} (all {len(members)})"] if whole else missing
    return named


def energy_sentence(covers: str, joules: float | None) -> str:
    known = "is not known" if joules is None else f"was {digits(joules, NARROW_SPACE)} J"
    return f"The energy that was counted ({covers}) {known}."


def row(counter: str, found: list[Change]) -> dict:
    """What all nodes counted together, and the device that counted most."""
    known = [(change.difference, change) for change in found if change.difference is not None]
    most, where = max(known, key=lambda pair: pair[0], default=(0, None))
    unknown = [change for change in found if change.difference is None]
    return {
        "counter": counter,
        "unit": KINDS[counter].unit,
        "sum": digits(sum(difference for difference, _ in known), NARROW_SPACE) if known else "–",
        "most": f"{digits(most, NARROW_SPACE)} on {printable(f'{where.host.name} {where.source.instance}')}".rstrip()
        if where and most
        else "–",
        "unknown": f"{counted(len(unknown), 'value')}: {unknown[0].reason}" if unknown else "–",
    }
