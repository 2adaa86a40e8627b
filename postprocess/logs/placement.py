# SPDX-License-Identifier: Apache-2.0
"""Compares where ranks ran, and on which cores, with what the check requested (COFFEECUP_ASKED in the job, see
reframe_checks/launch.py)."""

import re
from collections import Counter
from collections.abc import Iterator

from postprocess.logs.reader import Log
from postprocess.show.words import counted, ranges

ASKED = "COFFEECUP_ASKED"


def asked_for(run: dict) -> dict[str, str]:
    """The request in the run record: `processes_per_node`, `placement`, `exclusive`; empty if there was none."""
    words = dict(re.findall(r"(\w+)=(\w+)", run["environment"].get(ASKED, "")))
    return words if words.get("processes_per_node", "1").isdecimal() else {}


def of_placement(log: Log) -> Iterator[tuple[str, str]]:
    """Qualifications of a run whose processes are not placed as requested, or do not have the nodes or cores to
    themselves."""
    hosts, asked = log.run["hosts"], asked_for(log.run)
    if different := next(_differences(hosts, log.run["ranks"], asked), None):
        yield "not_as_requested", f"Not placed as requested: {different}"
    if asked.get("exclusive") == "yes" and (
        parts := [host for host in hosts if host.get("offered_cores", 0) < host.get("online_cores", 0)]
    ):
        yield (
            "not_exclusive",
            (
                f"Whole nodes were requested, but the job got {parts[0]['offered_cores']} of "
                f"{counted(parts[0]['online_cores'], 'core')} of {parts[0]['name']}{_and_more(parts)}: others may use "
                "the rest"
            ),
        )
    if stacked := [(host, core, ranks) for host in hosts for core, ranks in _alone_together(host)]:
        host, core, ranks = stacked[0]
        yield (
            "bound_together",
            (
                f"Ranks {ranges(ranks)} were all bound to core {core} of {host['name']}, which has more cores for them"
                f"{_and_more({at['name'] for at, _, _ in stacked})}"
            ),
        )


def _differences(hosts: list[dict], ranks: int, asked: dict[str, str]) -> Iterator[str]:
    sizes = sorted({len(host["ranks"]) for host in hosts})
    if per_node := int(asked.get("processes_per_node", "0")):
        wanted = -(-ranks // per_node)
        if len(hosts) != wanted or sizes[-1] > per_node:
            yield (
                f"{counted(wanted, 'host')} with up to {per_node} processes {'was' if wanted == 1 else 'were'} "
                "requested, but the run used "
                f"{len(hosts)} with {' to '.join(map(str, sorted({sizes[0], sizes[-1]})))}"
            )
    if len(hosts) > 1 and asked.get("placement") == "block":
        for host in hosts:
            if host["ranks"][-1] - host["ranks"][0] != len(host["ranks"]) - 1:
                yield f"blocks of ranks were requested, but {host['name']} had the ranks {ranges(host['ranks'])}"
    if len(hosts) > 1 and asked.get("placement") == "round_robin":
        for host in hosts:
            if (
                any(later - earlier < len(hosts) for earlier, later in zip(host["ranks"], host["ranks"][1:]))
                and sizes[0] == sizes[-1]
            ):
                yield f"round-robin placement was requested, but {host['name']} had the ranks {ranges(host['ranks'])}"


def _alone_together(host: dict) -> Iterator[tuple[str, list[int]]]:
    """Cores to which several ranks are bound although the host has enough cores for all ranks. Overcommitted hosts have
    a qualification of their own."""
    sets = host.get("core_sets", [])
    if len(host["ranks"]) > host["cores"] and len(host["ranks"]) > host.get("offered_cores", 0):
        return
    single = Counter(cores for cores in sets if cores.isdecimal())
    for core, count in single.items():
        if count > 1:
            yield core, [rank for rank, cores in zip(host["ranks"], sets) if cores == core]


def _and_more(hosts) -> str:
    return f" and of {counted(len(hosts) - 1, 'more host')}" if len(hosts) > 1 else ""
