# SPDX-License-Identifier: Apache-2.0
"""Events, and tests without a value, in sentences and as plain values."""

import shlex
from collections.abc import Iterable, Mapping
from math import isfinite

import pandas as pd

from coffeecup.postprocess.comparison.causes import proposal
from coffeecup.postprocess.history.acknowledgements import kind
from coffeecup.postprocess.history.change_points import Finding, relative
from coffeecup.postprocess.history.events import BETTER, CHANGED, ENDED, EVERYTHING, NEW, UNKNOWN, Event
from coffeecup.postprocess.history.power import PROBABILITY, SOON
from coffeecup.postprocess.history.site_files import (
    Acceptance,
    Acknowledgement,
    Entry,
    Expectation,
    Maintenance,
    OfEvent,
    stated,
)
from coffeecup.postprocess.show.words import counted, digits, named, printable, unit_word

SHOWN = 5  # metrics and nodes of an event that are named
REMEDY = (
    "To state the direction, give its reference a bound on the bad side only, or name the metric with `better` in the "
    "site's file (--thresholds)."
)


def place(series: dict) -> str:
    """A series in words: metric, nodes and processes, where, file system and settings."""
    options = f" ({series['settings']})" if series["settings"] else ""
    files = f", files on {series['file_system']}" if series["file_system"] else ""
    size = f"{counted(series['processes'], 'process')} of " if series["processes"] else ""
    return printable(f"{named(series['benchmark'], series['metric'])} on {size}{where(series)}{files}{options}")


def where(row: dict) -> str:
    """System, partition, environment, and the node of a test that --distribute runs on each one."""
    node = f", node {row['node']}" if row["node"] else ""
    return f"{row['system']}:{row['partition']}+{row['environ']}{node}"


def loss(losses: Mapping[tuple, float], key: tuple) -> str:
    """The smallest loss of a series that would be found (power.detectable), as the end of a line on it."""
    if key not in losses:
        return ""
    size = f"{losses[key]:.1%}" if isfinite(losses[key]) else "none"
    return f", smallest loss found within {SOON} nights with {PROBABILITY:.0%}: {size}"


def gap(row: dict) -> str:
    """A test without a value, a row of completeness.without_value."""
    what = f"{row['test']} on {where(row)}"
    since = f", since {row['since']:%Y-%m-%d %H:%M} UTC" if pd.notna(row["since"]) else ""
    last = f"{row['last_value']:%Y-%m-%d %H:%M} UTC" if pd.notna(row["last_value"]) else "never"
    reason = f": {row['reason']}" if row["reason"] else ""
    return printable(
        f"{what}: {row['state']} for {counted(row['sessions'], 'session')}{since}; last value: {last}{reason}"
    )


def as_object(finding: Finding, event: Event) -> dict:
    """One change of an event as plain values."""
    return finding.series | {
        "event": event.name,
        "unit": finding.unit,
        "since": finding.time.isoformat(),
        "sessions": finding.lasted,
        "lasts": finding.lasts,
        "worst": finding.worst,
        "today": finding.today,
        "before": finding.change.before,
        "after": finding.change.after,
        "relative": finding.change.relative,
        "p_value": finding.change.p_value,
        "drift": finding.change.drift,
        "better": str(finding.better),
        "regression": finding.regression,
        "recovered": finding.recovered,
        "alarm": finding.alarms and event.alarms,
        "changed": list(finding.causes),
    }


def objects(found: Iterable[Event]) -> dict[str, list]:
    """Events and their changes as plain values."""
    events = list(found)
    changes = [as_object(finding, event) for event in events for finding in event.findings]
    return {"events": list(map(event_object, events)), "changes": changes}


def event_object(event: Event) -> dict:
    """An event as plain values."""
    known = event.acknowledged
    return {
        "event": event.name,
        "system": event.system,
        "direction": event.direction,
        "drift": event.drift,
        "episode_until": event.last and event.last.isoformat(),
        "since": event.since.isoformat(),
        "between": [time.isoformat() for time in event.between],
        "state": event.state,
        "sessions": event.lasted,
        "lasts": event.lasts,
        "scope": event.scope,
        "where": event.where,
        "metrics": len(event.findings),
        "metrics_there": event.covered,
        "metrics_elsewhere": event.others[0],
        "smallest": event.smallest,
        "largest": event.largest,
        "reverts": event.reverts or None,
        "reverted": event.reverted or None,
        "recovered": event.recovered,
        "alarm": event.alarms,
        "acknowledged": known and stated(known),
        "unlike": event.unlike and stated(event.unlike),
        "changed": list(event.causes),
        "tested": event.tested,
        "nodes": [
            {"node": node.name, "since": node.since.isoformat(), "sessions": node.sessions, "confirmed": node.confirmed}
            for node in event.nodes
        ],
    }


def verdict(event: Event) -> str:
    """The word for an event in text output."""
    if event.last:
        return "episode"
    if event.direction in (BETTER, CHANGED):
        return "improvement" if event.direction == BETTER else "changed"
    if event.recovered:
        return "recovered"
    if not event.alarming:
        return "small change"
    if event.acknowledged:
        return kind(event.acknowledged)
    return "CHANGE OF UNKNOWN DIRECTION" if event.direction == UNKNOWN else "REGRESSION"


def sentence(event: Event) -> str:
    """An event: what, where, how much, since when, what else changed at that time, the nodes that explain it, and who
    acknowledged it."""
    since = f"since {event.since:%Y-%m-%d %H:%M} UTC"
    if event.last:
        since = f"from {event.since:%Y-%m-%d %H:%M} to {event.last:%Y-%m-%d %H:%M} UTC"
    elif event.between[0] != event.between[1]:
        since += f" (between {event.between[0]:%Y-%m-%d} and {event.between[1]:%Y-%m-%d})"
    if len(event.findings) == 1:
        [finding] = event.findings
        what = f"{place(finding.series)}: {size_of(finding, since)}, p = {finding.change.p_value:.1g}"
    else:
        steps = "a drift of " if event.drift else ""
        size = f"{steps}{percents([finding.change.relative for finding in event.findings])} {since}"
        what = f"{event_place(event)}: {metrics_of(event)}, {size}{today(event)}"
    tested = {cause: f" ({words})" for cause, words in event.tested.items()}
    causes = "; ".join(cause + tested.get(cause, "") for cause in event.causes) or "nothing recorded"
    rest = f"{slow_nodes(event)}{known_of(event)}"
    return printable(f"{what}, {state(event)}. Changed at that time: {causes}{rest}")


def state(event: Event) -> str:
    """Whether an event is new or ongoing, or how it ended, and what it reverts."""
    sessions = counted(event.lasted, "session")
    if event.state == ENDED:
        alone = "ended by itself" if event.last else "ended"
        text = f"{f'reverted by {event.reverted}' if event.reverted else alone} after {sessions}"
    else:
        text = f"{'new' if event.state == NEW else 'ongoing'}, lasting for {sessions}"
    return text + (f", reverts {event.reverts}" if event.reverts else "")


def today(event: Event) -> str:
    """The worst levels and those of today where they are others than at first, as fractions of the level before."""
    text = ""
    for word in ("worst", "today"):
        levels = [(getattr(one, word), one.change.before, one.change.after) for one in event.findings]
        if any(level != after for level, _, after in levels):
            text += f", {word} {percents([relative(before, level) for level, before, _ in levels])}"
    return text


def percents(relatives: list[float]) -> str:
    """Such as "-10.0% to -20.0%", the smallest change first."""
    ends = dict.fromkeys(percent(pick(relatives, key=abs)) for pick in (min, max))
    return " to ".join(ends)


def known_of(event: Event) -> str:
    """A sentence on the entry of the site's file that the event fits, or that it is unlike; empty without one."""
    known = event.acknowledged
    if event.unlike:
        return f". This is not what was {kind(event.unlike)}: {entry_name(event.unlike)}"
    if not known or not (event.alarming or isinstance(known, Expectation)):
        return ""
    until = f" until {known.until}" if isinstance(known, Acknowledgement) else ""
    return f". {kind(known).capitalize()} by {known.who}{until}: {known.why}"


def slow_nodes(event: Event) -> str:
    """A sentence that names the nodes, empty if there are none."""
    named = [
        f"{node.name} ({'confirmed' if node.confirmed else 'suspected'}, since {node.since:%Y-%m-%d %H:%M} UTC)"
        for node in event.nodes
    ]
    more = f"; and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f". Slow {'node' if len(named) == 1 else 'nodes'} there: {'; '.join(named[:SHOWN])}{more}" if named else ""


def lines(event: Event) -> list[str]:
    """An event with its verdict, the series that changed most, and, if it alarms, the comparison that would tell its
    cause and the name to acknowledge it. The return from a loss is told by the event of the loss."""
    if event.direction == BETTER and event.reverts:
        return []
    text = [f"{verdict(event)}: {sentence(event)}"]
    if len(event.findings) > 1:
        largest = sorted(event.findings, key=lambda finding: -abs(finding.change.relative))
        text += [f"    {place(finding.series)}: {size_of(finding)}" for finding in largest[:SHOWN]]
        if len(largest) > SHOWN:
            text.append(f"    and {counted(len(largest) - SHOWN, 'more metric')}; --json lists all")
    if event.alarms:
        text += [f"    try: {printable(shlex.join(words))}"] if (words := proposal(event)) else []
        text.append(f"    event: {printable(event.name)}")
    return text


def event_place(event: Event) -> str:
    """The place of an event that concerns several series."""
    return printable(f"{'all' if event.scope == EVERYTHING else event.scope} of {event.system}")


def metrics_of(event: Event) -> str:
    """How many metrics of those measured at the place of an event changed, and how many elsewhere."""
    changed, others = event.others
    elsewhere = f", and {changed} of the other {others}" if others else ""
    return f"{len(event.findings)} of {counted(event.covered, 'metric')} there{elsewhere}"


def percent(relative: float) -> str:
    return f"{relative:+.1%}" if isfinite(relative) else "from a level of 0"


def size_of(finding: Finding, since: str = "") -> str:
    change, unit = finding.change, unit_word(finding.unit)
    drift = " in a steady drift" if change.drift else ""
    levels = f"{digits(change.before)} -> {digits(change.after)} {unit}".rstrip()
    levels += "" if finding.worst == change.after else f", worst {digits(finding.worst)}"
    levels += "" if finding.lasts else f", now {digits(finding.today)}"
    return f"{percent(change.relative)}{drift}{since and ' ' + since}, {levels}"


def remarks(units: list[dict], unknown: list[dict], unused: list[int], notes: list[tuple[str, Entry]]) -> list[str]:
    """Sentences on what the history leaves out, on metrics of unknown direction, and on entries of the site's files
    of which a person should know something."""
    return [
        *([undirected(unknown)] if unknown else []),
        *(
            printable(
                f"unit changed: {place(row)}: from {row['was'] or 'none'} to {row['unit'] or 'none'} on "
                f"{row['since']:%Y-%m-%d %H:%M} UTC; only the sessions since then are judged"
            )
            for row in units
        ),
        *(f"thresholds: entry {number} matches no metric" for number in unused),
        *(f"{note}: {entry_name(entry)}" for note, entry in notes),
    ]


def undirected(unknown: list[dict]) -> str:
    """The metrics of unknown direction, of change_points.undirected, with the remedy."""
    names = ", ".join(f"{row['benchmark']} {row['metric']} [{row['unit'] or 'no unit'}]" for row in unknown)
    return printable(
        f"direction unknown ({counted(len(unknown), 'metric')}): nothing states whether more or less is better for "
        f"{names}. A lasting change of such a metric fails, whichever way it goes. {REMEDY}"
    )


def entry_name(entry: Entry) -> str:
    """An entry of a site as messages name it."""
    place = ", ".join(f"{name} {value}" for name, value in entry.where.items()) or "everything"
    since = f"since {entry.since}" if isinstance(entry, (Acknowledgement, Acceptance)) else ""
    period = f"{entry.begin} to {entry.end}" if isinstance(entry, (Expectation, Maintenance)) else since
    limit = f" by at most {entry.at_most:.1%}" if isinstance(entry, OfEvent) and entry.at_most else ""
    what = f"{entry.direction}{limit} " if isinstance(entry, OfEvent) else ""
    return printable(f"{what}{period} on {entry.system}: {place} (by {entry.who}: {entry.why})")


def node_effect(row: dict) -> str:
    """Such as "0.52 of its peers [0.50, 0.55]"."""
    if pd.isna(row["ratio"]):
        return "unknown effect"
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if row["low"] > 0 and row["high"] < float("inf") else ""
    return f"{row['ratio']:.2f} of its peers{interval}"


def server_line(row: dict) -> str:
    """A server of files in a test, a row of history.nodes.as_servers."""
    return printable(
        f"{row['server']}: {node_effect(row)}{over_sessions(row)}; suspected in {row['suspected']} of "
        f"{counted(row['sessions'], 'session')}; {row['test']}"
    )


def over_sessions(row: dict, confirmed: bool = False) -> str:
    """Whether a node or server is slow over the sessions, and since when each one has named it."""
    state = "CONFIRMED" if confirmed else "suspected" if pd.notna(row["since"]) else "not suspected now"
    since = f" since {row['since']:%Y-%m-%d %H:%M} UTC" if pd.notna(row["since"]) else ""
    return f"{', slow over these sessions' if row['slow'] else ''}; {state}{since}"


def node_line(row: dict) -> str:
    """A node in a test, a row of history.nodes.summary."""
    failed = f", {counted(row['failed'], 'failed job')}" if row["failed"] else ""
    state = f"{node_effect(row)}{over_sessions(row, row['confirmed_now'])}"
    if row["absent"]:
        missing = f"not examined in the last {counted(row['absent'], 'session')}, since {row['last_examined']:%Y-%m-%d}"
        state = missing if pd.isna(row["ratio"]) else f"{state}; {missing}"
    if row["intermittent"]:
        state += f"; slow in {row['share']:.0%} of its matchings, the median node in {row['others']:.0%}: intermittent"
    return printable(
        f"{row['node']}: {state}; suspected in {row['suspected']} and confirmed in {row['confirmed']} of "
        f"{counted(row['sessions'], 'session')}{failed}; {row['test']}"
    )


def hang_line(row: dict) -> str:
    """Runs that hang, a row of history.nodes.hangs."""
    where = f" of {' and '.join(row['nodes'])}" if row["nodes"] else ""
    since = f"{row['first']:%Y-%m-%d}" + (f" to {row['last']:%Y-%m-%d}" if row["hangs"] > 1 else "")
    what = "a node or the link between them" if len(row["nodes"]) > 1 else "the node"
    finding = f"; examine {what}" if row["again"] else ""
    return printable(f"{counted(row['hangs'], 'hang')}{where}, {since}{finding}: {row['verdict']}")


def link_line(row: dict) -> str:
    """A link that may lose packets, or a node that keeps others waiting, a row of history.repeated.links."""
    what, examine = ("link", "the link") if row["evidence"] == "links" else ("round trips", "the node and its link")
    since = f"{row['first']:%Y-%m-%d}" + (f" to {row['last']:%Y-%m-%d}" if row["named"] > 1 else "")
    finding = f"; examine {examine}" if row["again"] else ""
    often = f"named in {row['named']} of {counted(row['sessions'], 'session')}"
    return printable(f"{what} of {row['node']}: {often}, {since}{finding}: {row['text']}")


def kind_lines(found: pd.DataFrame) -> list[str]:
    """A line for each kind of nodes that the sessions of a test show, of a history.nodes.summary; none for one kind."""
    several = found.groupby(["system", "test"])["kind"].transform("nunique") > 1
    lines = []
    for (test, _), rows in found[several].groupby(["test", "kind"]):
        named = sorted(rows["node"])
        names = ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")
        size = (
            f"Kind of {counted(len(named), 'node')} with {rows['of_all'].median():.2f} of the median node's bandwidth"
        )
        lines.append(printable(f"{size}, compared with each other: {names}; {test}"))
    return lines
