# SPDX-License-Identifier: Apache-2.0
"""Links that lose or damage packets: nodes whose counters show more errors for what they sent than those of the others.
docs/compare-nodes.md explains it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log

from coffeecup.postprocess.logs.counter_kinds import KINDS, PORT_ERRORS, RETRANSMISSIONS
from coffeecup.postprocess.logs.counters import Change, changes_of_hosts
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, digits
from coffeecup.postprocess.statistics.excess import log_chances
from coffeecup.postprocess.statistics.nodes import FEWEST

FALSE_NAME = 0.01  # probability that chance names any node of a healthy run by one kind of loss
RATIO = 4  # times the highest usual rate: links may differ by less, by what they are used for
MOST_NAMED = 3  # more at once are a property of the network, or of a rack


@dataclass(frozen=True)
class Loss:
    """What counts as loss of a link: `errors` for what was sent and received, `per`. Fewer than `fewest` of them may be
    one burst; a rate below `least` does no harm."""

    what: str
    errors: tuple[str, ...]
    per: tuple[str, ...]
    unit: str
    fewest: int
    least: float = 0.0


def of_family(prefix: str, error: str) -> tuple[str, ...]:
    return tuple(name for name, kind in KINDS.items() if name.startswith(prefix) and kind.error == error)


def rows() -> Iterator[Loss]:
    """Each kind of loss."""
    again, sent = "tcp_segments_sent_again", "tcp_segments_sent"
    yield Loss("segments that TCP sent again", (again,), (sent,), "segment sent", 100, 1e-4)
    for prefix, name, per, unit in (
        ("infiniband_", "InfiniBand", ("infiniband_port_xmit_data", "infiniband_port_rcv_data"), "4 byte"),
        ("cxi_", "Slingshot", ("cxi_hni_pkts_sent_by_tc", "cxi_hni_pkts_recv_by_tc"), "packet"),
        ("network_", "Ethernet", ("network_transmit_packets", "network_receive_packets"), "packet"),
    ):
        for key, words in ((PORT_ERRORS, "errors on ports of"), (RETRANSMISSIONS, "retransmissions of")):
            if errors := of_family(prefix, key):
                yield Loss(f"{words} {name}", errors, per, unit, 10 if key == PORT_ERRORS else 100)


LOSSES = tuple(rows())


@dataclass(frozen=True)
class Found:
    """Of `compared` nodes, 0 if none were, those that are `named` with their figures as a text; `remarks` state why
    others are not."""

    compared: int = 0
    named: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def listed(self) -> list[str]:
        """A text for each one that is named."""
        return [f"{name}: {text}" for name, text in self.named.items()]


def found(log: Log) -> Found:
    """The links of a run. A kind of loss is compared if at least three nodes have known counts of it."""
    hosts = changes_of_hosts(log)
    tables = {loss: table for loss in LOSSES if len(table := counts(hosts, loss)) >= FEWEST}
    named: dict[str, str] = {}
    remarks = []
    for loss, table in tables.items():
        worse = standing_out(loss, table)
        if len(worse) > MOST_NAMED:
            what = f"{counted(len(worse), 'node')} have more {loss.what} than the others"
            remarks.append(f"{what}, which is a property of the network or of how the job was placed")
        else:
            named |= {name: f"{named[name]}; {text}" if name in named else text for name, text in worse.items()}
    return Found(max(map(len, tables.values()), default=0), named, tuple(remarks))


def counts(hosts: Iterable[list[Change]], loss: Loss) -> list[tuple[str, int, int]]:
    """Name, errors, and what was sent and received, of each node of which both are known. Not zero."""
    table = []
    for changes in hosts:
        errors, per = (
            [change for change in changes if change.source.counter in names] for names in (loss.errors, loss.per)
        )
        known = errors and per and all(change.difference is not None for change in (*errors, *per))
        if known and (total := sum(change.difference or 0 for change in per)):
            table.append((changes[0].host.name, sum(change.difference or 0 for change in errors), total))
    return table


def standing_out(loss: Loss, table: list[tuple[str, int, int]]) -> dict[str, str]:
    """The nodes whose errors exceed those of the others beyond chance, each with a text."""
    worse = {}
    usual, chances = log_chances([errors for _, errors, _ in table], [total for *_, total in table], loss.fewest / 10)
    for (name, errors, total), by_chance in zip(table, chances):
        many = errors >= loss.fewest and errors / total >= max(loss.least, RATIO * usual)
        if many and by_chance <= log(FALSE_NAME):
            rates = f"{errors / total:.2g} for each {loss.unit}, of others up to {usual:.2g}"
            worse[name] = f"{digits(errors)} {loss.what}, {rates}"
    return worse
