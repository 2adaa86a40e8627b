# SPDX-License-Identifier: Apache-2.0
"""Qualifications by the hosts of a run: their number, overcommitment, placement of the processes, and other use."""

import re
from collections.abc import Iterator

from coffeecup.postprocess.logs.activity import of_activity, of_overlap
from coffeecup.postprocess.logs.placement import asked_for, of_placement
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host, Run
from coffeecup.postprocess.show.words import counted


def of_hosts(log: Log) -> Iterator[tuple[str, str]]:
    """What the number of hosts, their processors and the placement limit: key and sentence."""
    hosts = log.run.hosts
    if len(hosts) < 2:
        yield "one_host", "All processes ran on one host: no network was measured, only communication inside a node"
    if shared := shared_cores(hosts):
        yield "overcommitted", f"Overcommitted: {shared}"
    yield from of_placement(log)
    yield from of_activity(log)
    yield from of_overlap(log)


def shared_cores(hosts: list[Host]) -> str:
    """Where more processes ran than there are cores for them, in words; empty if nowhere."""
    crowded = [host for host in hosts if len(host.ranks) > host.cores]
    if not crowded:
        return ""
    return f"{len(crowded[0].ranks)} processes shared {counted(crowded[0].cores, 'core')} on {several(crowded)}"


def several(hosts: list[Host]) -> str:
    """The first host by name, the others by number."""
    more = f" and {counted(len(hosts) - 1, 'more host')}" if len(hosts) > 1 else ""
    return f"{hosts[0].name}{more}"


def system(run: Run) -> str:
    """The system of a run, for figures: the partition if the check stated it, otherwise the names of the hosts without
    their numbers."""
    stems = {re.sub(r"\d+", "*", host.name.partition(".")[0]) for host in run.hosts}
    return asked_for(run).get("partition") or ", ".join(sorted(stems))
