# SPDX-License-Identifier: Apache-2.0
"""What the check requested and stated about its partition (COFFEECUP_ASKED in the job, see reframe_checks/launch.py),
and where ranks ran, and on which cores, compared with it."""

import re
from collections import Counter
from collections.abc import Iterator, Sized

from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host, Run
from coffeecup.postprocess.show.words import counted, ranges

ASKED = "COFFEECUP_ASKED"
LEAST_STATED, MOST_STATED = 1e-6, 1e12


def asked_for(run: Run) -> dict[str, str]:
    """The request in the run record: `processes_per_node`, `placement`, `exclusive`, and what is known about the
    partition: `partition`, `partition_nodes`, `r_max_per_node`; empty if there was none."""
    words = dict(re.findall(r"(\w+)=([^,]+)", run.environment.get(ASKED, "")))
    return words if words.get("processes_per_node", "1").isdecimal() else {}


def number_stated(run: Run, name: str) -> float | None:
    """A number that the check stated about the partition; None if it stated none that is possible."""
    try:
        number = float(asked_for(run).get(name, ""))
    except ValueError:
        return None
    return number if LEAST_STATED <= number <= MOST_STATED else None


def placement_of(run: Run) -> str:
    """How the processes were spread over the nodes. Those of a single node are a block."""
    hosts = run.hosts
    if len(hosts) == run.ranks:
        return "a process on each node"
    if all(map(_is_block, hosts)):
        return "block"
    equal = len({len(host.ranks) for host in hosts}) == 1
    return "round robin" if equal and all(_goes_round(host, hosts) for host in hosts) else "another placement"


def of_placement(log: Log) -> Iterator[tuple[str, str]]:
    """Qualifications of a run whose processes are not placed as requested, or do not have the nodes or cores to
    themselves."""
    hosts, asked = log.run.hosts, asked_for(log.run)
    if different := next(_differences(hosts, log.run.ranks, asked), None):
        yield "not_as_requested", f"Not placed as requested: {different}"
    if asked.get("exclusive") == "yes" and (
        parts := [host for host in hosts if host.offered_cores < host.online_cores]
    ):
        first = parts[0]
        yield (
            "not_exclusive",
            f"Whole nodes were requested, but the job got {first.offered_cores} of "
            f"{counted(first.online_cores, 'core')} of {first.name}{_and_more(parts)}: others may use the rest",
        )
    if stacked := [(host, core, ranks) for host in hosts for core, ranks in _bound_together(host)]:
        host, core, ranks = stacked[0]
        yield (
            "bound_together",
            f"Ranks {ranges(ranks)} were all bound to core {core} of {host.name}, which has more cores for them"
            f"{_and_more({at.name for at, _, _ in stacked})}",
        )


def _differences(hosts: list[Host], ranks: int, asked: dict[str, str]) -> Iterator[str]:
    """Sentences on what is not as requested: how many hosts and processes on each, then the order of the ranks."""
    if per_node := int(asked.get("processes_per_node", "0")):
        yield from _differing_sizes(hosts, ranks, per_node)
    for host in hosts:
        if asked.get("placement") == "block" and not _is_block(host):
            yield f"blocks of ranks were requested, but {host.name} had the ranks {ranges(host.ranks)}"
        if asked.get("placement") == "round_robin" and not _goes_round(host, hosts):
            yield f"round-robin placement was requested, but {host.name} had the ranks {ranges(host.ranks)}"


def _differing_sizes(hosts: list[Host], ranks: int, per_node: int) -> Iterator[str]:
    fewest, most = (bound(len(host.ranks) for host in hosts) for bound in (min, max))
    wanted = -(-ranks // per_node)
    if len(hosts) != wanted or most > per_node:
        yield (
            f"{counted(wanted, 'host')} with up to {per_node} processes {'was' if wanted == 1 else 'were'} "
            f"requested, but the run used {len(hosts)} with {' to '.join(map(str, sorted({fewest, most})))}"
        )


def _is_block(host: Host) -> bool:
    return host.ranks[-1] - host.ranks[0] == len(host.ranks) - 1


def _goes_round(host: Host, hosts: list[Host]) -> bool:
    """Neighbours are at least as far apart as there are hosts; not defined where hosts have different numbers of
    ranks."""
    unequal = len({len(host.ranks) for host in hosts}) > 1
    return unequal or all(later - earlier >= len(hosts) for earlier, later in zip(host.ranks, host.ranks[1:]))


def _bound_together(host: Host) -> Iterator[tuple[str, list[int]]]:
    """Cores to which several ranks are bound although the host has enough cores for all ranks. Overcommitted hosts have
    a qualification of their own."""
    if len(host.ranks) > max(host.cores, host.offered_cores):
        return
    single = Counter(cores for cores in host.core_sets if cores.isdecimal())
    for core, count in single.items():
        if count > 1:
            yield core, [rank for rank, cores in zip(host.ranks, host.core_sets) if cores == core]


def _and_more(hosts: Sized) -> str:
    return f" and of {counted(len(hosts) - 1, 'more host')}" if len(hosts) > 1 else ""
