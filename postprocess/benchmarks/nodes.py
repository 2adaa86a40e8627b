# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run: which are slow, how certain that is, and what cannot be told apart.
docs/compare-nodes.md explains it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from math import isfinite, nan

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.links import Found
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.words import counted
from coffeecup.postprocess.statistics.nodes import FALSE_SUSPICION, SLOWER, TOO_MANY, Effects, effects

FEWEST_UNITS = 6  # of which the extremes enclose the median with 95 % (statistics.medians)
SHOWN = 20  # nodes that a text or a figure lists
QUALIFICATION = "slow_nodes"


class Verdict(StrEnum):
    """UNCLEAR: some nodes are slow, but nothing says which. A node is CONFIRMED only by a second measurement."""

    NOT_EXAMINED = "not examined"
    NONE = "none"
    UNCLEAR = "unclear"
    SUSPECTS = "suspects"
    CONFIRMED = "confirmed"


COLUMNS = ["node", "ratio", "low", "high", "slow", "examined", "units", "suspect", "confirmed"]


@cache
def nobody() -> pd.DataFrame:
    """The table of an examination without nodes."""
    empty = pd.DataFrame(columns=COLUMNS, dtype=float)
    return empty.astype({"node": str, "units": str, "suspect": bool, "confirmed": bool})


@dataclass(frozen=True)
class Examination:
    """`nodes` has a row per node, the slowest first: `node`, its name; the columns of statistics.nodes.Effects; and
    `confirmed`; `servers` has the same of servers of files, without any confirmed. `remarks` state what limits the
    verdict, which depends neither on `links`, those that lose packets, nor on `tails`, nodes that sometimes keep others
    waiting."""

    verdict: Verdict
    nodes: pd.DataFrame = field(compare=False)  # tables have no truth value; remarks and verdict follow from it
    remarks: tuple[str, ...] = ()
    servers: pd.DataFrame = field(default_factory=nobody, compare=False)
    links: Found = field(default_factory=Found)
    tails: Found = field(default_factory=Found)

    @property
    def named(self) -> pd.DataFrame:
        """The suspects, and those of them that were confirmed."""
        return self.nodes[self.nodes["suspect"]]

    @property
    def slow_servers(self) -> list[str]:
        """A text for each server that is suspected."""
        return listed(self.servers[self.servers["suspect"]])

    @property
    def other_remarks(self) -> list[str]:
        """Links that lose packets, what limits that, and long tails, in sentences without a full stop."""
        named = [f"The link of a node may lose packets: {text}" for text in self.links.listed]
        waiting = [f"A node sometimes keeps others waiting: {text}" for text in self.tails.listed]
        return [*named, *self.links.remarks, *waiting]


MATCHINGS, WRITES, READS, COMPUTATIONS = "matchings", "writes", "reads", "computations"  # what a node's times are of


def kinds(run: Run) -> list[str]:
    """The kind of each node of a run: nodes with other processors are of another generation. Firmware, memory and
    numbers of cores make no kind, because a fault may change them."""
    return [host.processor or "" for host in run.hosts]


def not_examined(why: str) -> Examination:
    """An examination that could not be made, with the reason as a sentence."""
    return Examination(Verdict.NOT_EXAMINED, nobody(), (why,))


def examination(
    names: Sequence[str],
    times: Mapping[str, pd.DataFrame],
    remarks: Sequence[str] = (),
    again: Mapping[str, float] | None = None,
    kinds: Sequence[str] | None = None,
) -> Examination:
    """The nodes `names` by tables of statistics.nodes.effects, each by what its units are. Each table may name nodes by
    itself; of a node the one counts in which it is a suspect, or slowest. Fewer than three nodes have no peers. `again`
    has the most that those reach of the bandwidth of good nodes which were measured a second time: a suspect that is
    slow there too is confirmed. `kinds` has the kind of each node, which is compared with nodes of its kind; without
    it, all are of the same."""
    if len(names) < 3:
        return not_examined(
            "With two nodes a slow one cannot be told from its partner, nor from their link: run on three or more"
            if len(names) == 2
            else "One node has no peers: run on three or more"
        )
    tables = {units: table for units, table in times.items() if not table.empty}
    if not tables:
        return not_examined("The log contains no times of nodes")
    found = {
        units: effects(table, len(names), FALSE_SUSPICION / len(tables), varied=units != MATCHINGS, kinds=kinds)
        for units, table in tables.items()
    }
    worst = worst_of(found)
    second = pd.Series([(again or {}).get(name, nan) for name in names])
    second = second / worst["level"].clip(upper=1.0)  # good nodes may be of a faster kind
    confirmed = worst["suspect"] & (second < SLOWER)
    table = worst.assign(node=list(names), confirmed=confirmed)[COLUMNS].sort_values("ratio", ignore_index=True)
    if not with_interval(table):
        return not_examined(f"No node had enough {' or '.join(tables)} for an interval")
    withheld = any(one.withheld for one in found.values())
    verdict = Verdict.SUSPECTS if table["suspect"].any() else Verdict.UNCLEAR if withheld else Verdict.NONE
    if confirmed.any():
        verdict = Verdict.CONFIRMED
    doubtful = worst["suspect"] & (second >= SLOWER)
    denied = [f"{names[node]}, up to {second[node]:.2f} of good nodes" for node in doubtful.index[doubtful]]
    of_tables = [remark for units, one in found.items() for remark in limits(one, units)]
    of_kinds = remarks_on_kinds(worst.assign(node=list(names)), kinds) if kinds else ()
    return Examination(verdict, table, (*remarks, *of_kinds, *of_tables, *not_confirmed(denied)))


def remarks_on_kinds(found: pd.DataFrame, kinds: Sequence[str]) -> Iterator[str]:
    """Kinds of nodes that differ in speed, and slow nodes that have no peers of their kind, in sentences."""
    for kind, rows in found.groupby(np.array(kinds)):
        level, what = rows["level"].median(), f"{counted(len(rows), 'node')} with the processor {kind or '(unknown)'}"
        if abs(np.log(level)) > -np.log(SLOWER):
            yield f"{what} reach {level:.2f} of the median node, and are compared with each other"
        if slow := [f"{row.node}, {row.ratio:.2f} of all nodes" for row in each_row(rows) if row.alone and row.slower]:
            yield f"{what} have no peers of their kind and are no suspects, although slow: {'; '.join(slow)}"


def worst_of(found: Mapping[str, Effects]) -> pd.DataFrame:
    """A row of Effects.nodes for each node: where it is a suspect, otherwise where it has an interval, or slowest."""
    every = pd.concat([one.nodes.assign(units=units) for units, one in found.items()]).rename_axis("number")
    order = every.assign(cleared=~every["suspect"], unknown=np.isinf(every["high"]) | every["high"].isna())
    return order.sort_values(["cleared", "unknown", "ratio"], kind="stable").groupby("number").head(1).sort_index()


def not_confirmed(denied: list[str]) -> Iterator[str]:
    if denied:
        yield f"A second measurement, while all other nodes rested, did not confirm {'; '.join(denied)}"


def with_interval(table: pd.DataFrame) -> int:
    return int(np.isfinite(table[["low", "high"]]).all(axis=1).sum())


def limits(found: Effects, units: str) -> Iterator[str]:
    """Why slow nodes are not named, in sentences; `units` is what was compared."""
    slow, where = counted(int(found.nodes["slower"].sum()), "node"), "" if units == MATCHINGS else f" in {units}"
    if found.withheld == TOO_MANY:
        yield (
            f"{slow} of {len(found.nodes)} seem slow{where}: that is a property of the machine, or of how the job was "
            "placed"
        )
    elif found.withheld and units == MATCHINGS:
        yield "Nodes are slow with some partners only, which is a property of the network between them; name the groups"
    elif found.withheld:
        yield f"Nodes are slow in some {units} only, which may be a property of the files' servers"
    unknown = found.nodes[~np.isfinite(found.nodes[["low", "high"]]).all(axis=1)]
    enough = unknown["met"] >= FEWEST_UNITS
    if count := int((~enough).sum()):
        yield f"Not examined, because of too few {units}: {counted(count, 'node')}"
    if count := int(enough.sum()):
        yield f"Not examined, because the partner was slower in most {units}: {counted(count, 'node')}"


def in_words(row) -> str:
    """Such as "x0417: 0.52 of its peers [0.50, 0.55], slow in 14 of 16 matchings"."""
    return (
        f"{row.node}: {row.ratio:.2f} of its peers [{row.low:.2f}, {row.high:.2f}], "
        f"slow in {row.slow} of {row.examined} {row.units}{', confirmed' if row.confirmed else ''}"
    )


def listed(named: pd.DataFrame) -> list[str]:
    """A text per node of Examination.named."""
    more = [f"and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
    return [in_words(row) for row in each_row(named[:SHOWN])] + more


def qualifications(found: Examination) -> Iterator[tuple[str, str]]:
    """What a score states about slow nodes."""
    if servers := found.slow_servers:
        word = "server" if len(servers) == 1 else "servers"
        yield "slow_servers", f"Slow {word} of files suspected: {'; '.join(servers)}"
    if links := found.links.listed:
        yield "lossy_links", f"Links that may lose packets: {'; '.join(links)}"
    if tails := found.tails.listed:
        yield "long_tails", f"Nodes that sometimes keep others waiting: {'; '.join(tails)}"
    named = found.named
    for what, rows in (("confirmed", named[named["confirmed"]]), ("suspected", named[~named["confirmed"]])):
        if len(rows):
            yield QUALIFICATION, f"Slow {'node' if len(rows) == 1 else 'nodes'} {what}: {'; '.join(listed(rows))}"


def sentence(found: Examination) -> str:
    """The verdict for a report."""
    count = counted(with_interval(found.nodes), "node")
    return {
        Verdict.NOT_EXAMINED: "The nodes were not examined.",
        Verdict.NONE: f"None of {count} is suspected: none is slower than {SLOWER:.0%} of its peers with certainty.",
        Verdict.UNCLEAR: f"Some of {count} are slow, but the measurements do not show which ones.",
        Verdict.SUSPECTS: f"{len(found.named)} of {count} suspected; a second measurement has to confirm it. Chance "
        f"alone makes a node a suspect in at most {FALSE_SUSPICION:.0%} of the runs of a healthy machine.",
        Verdict.CONFIRMED: f"{int(found.nodes['confirmed'].sum())} of {count} confirmed to be slow: a second "
        "measurement, with good nodes while all others rested, agrees.",
    }[found.verdict]


def in_sentences(found: Examination) -> str:
    """The verdict with its remarks and the named nodes, as one text."""
    named = f" They are: {'; '.join(listed(found.named))}." if len(found.named) else ""
    remarks = [*found.remarks, *found.other_remarks]
    return " ".join([sentence(found), *(f"{remark}." for remark in remarks)]) + named


def plain(value):
    """A number that JSON has, or None."""
    return None if isinstance(value, float) and not isfinite(value) else value


def as_object(found: Examination) -> dict:
    """Plain values: the verdict, the remarks and every node."""
    return {
        "verdict": str(found.verdict),
        "remarks": list(found.remarks),
        "servers": found.slow_servers,
        "links": found.links.listed,
        "tails": found.tails.listed,
        "nodes": [{name: plain(value) for name, value in row.items()} for row in found.nodes.to_dict("records")],
    }


def stored(found: Examination) -> dict:
    """What a session keeps of an examination, about 45 bytes a node: `values` has [ratio, low, high, slow, examined] of
    each node, null where unknown. Servers of files are stored in the same way, if any were compared; of links and
    tails, how many were compared and those that are named."""
    named = found.named
    servers = {"suspects": list(found.servers["node"][found.servers["suspect"]]), "values": values_of(found.servers)}
    return {
        "verdict": str(found.verdict),
        "suspects": list(named["node"]),
        "confirmed": list(named["node"][named["confirmed"]]),
        "values": values_of(found.nodes),
        **({"servers": servers} if len(found.servers) else {}),
        **{
            what: {"compared": one.compared, "named": one.named}
            for what, one in (("links", found.links), ("tails", found.tails))
            if one.compared
        },
    }


def values_of(table: pd.DataFrame) -> dict[str, list]:
    return {
        row.node: [*(plain(round(value, 4)) for value in (row.ratio, row.low, row.high)), row.slow, row.examined]
        for row in each_row(table)
    }
