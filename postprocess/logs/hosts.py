# SPDX-License-Identifier: Apache-2.0
"""Qualifications by the hosts of a run: their number, overcommitment, placement of the processes, and other use."""

import re
from collections.abc import Iterator

from coffeecup.postprocess.logs.activity import of_activity, of_overlap
from coffeecup.postprocess.logs.placement import asked_for, of_placement
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host, Run


def of_hosts(log: Log) -> Iterator[tuple[str, str]]:
    """What the number of hosts, their processors and the placement limit: key and sentence."""
    hosts = log.run.hosts
    if len(hosts) < 2:
        yield "one_host", "All processes ran on one host: no network was measured, only communication inside a node"
    if crowded := [host for host in hosts if len(host.ranks) > host.cores]:
        yield (
            "overcommitted",
            f"Overcommitted: {len(crowded[0].ranks)} processes shared {crowded[0].cores} "
            f"core{'s' * (crowded[0].cores > 1)} on {several(crowded)}",
        )
    yield from of_placement(log)
    yield from of_activity(log)
    yield from of_overlap(log)


def several(hosts: list[Host]) -> str:
    """The first host by name, the others by number."""
    more = f" and {len(hosts) - 1} more host{'s' * (len(hosts) > 2)}" if len(hosts) > 1 else ""
    return f"{hosts[0].name}{more}"


def system(run: Run) -> str:
    """The system of a run, for figures: the partition if the check stated it, otherwise the names of the hosts without
    their numbers."""
    stems = {re.sub(r"\d+", "*", host.name.partition(".")[0]) for host in run.hosts}
    return asked_for(run).get("partition") or ", ".join(sorted(stems))
