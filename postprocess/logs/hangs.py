# SPDX-License-Identifier: Apache-2.0
"""Why a run hangs, from the places and states of its processes."""

from collections.abc import Sequence

from coffeecup.postprocess.logs.records import HungProcess

MOST_NAMED = 4  # processes that one sentence names


def verdict(processes: Sequence[HungProcess]) -> str:
    """One sentence that names the cause, by the strongest proof: processes that are gone or do not run; two processes
    that have not ended the loop that all others have ended; a node of which the same is true; otherwise that the cause
    is not known, and where the run was."""
    if idle := [process for process in processes if process.state in ("gone", "zombie", "stopped", "traced")]:
        return _named([f"{_name(process)} is {process.state}" for process in idle], idle[0])
    if not processes:
        return "the log has no process of it: cannot tell which one is the cause"
    fewest = min(process.steps for process in processes)
    last = [process for process in processes if process.steps == fewest]
    if len(last) == len(processes) or fewest % 2 == 0:
        return f"cannot tell the cause: all processes wait ({last[0].place})"
    if len(last) == 1:
        return _named([f"{_name(last[0])} has not ended a loop that all others have ended"], last[0])
    if len(last) == 2:
        return _named([f"{_name(last[0])} and {_name(last[1])} wait for each other"], last[0])
    hosts = {process.host for process in last}
    if len(hosts) == 1 and len(last) == sum(process.host in hosts for process in processes):
        return _named([f"all processes of {last[0].host} are in a loop that those of other nodes have ended"], last[0])
    return f"cannot tell the cause: {len(last)} of {len(processes)} processes are in a loop ({last[0].place})"


def _name(process: HungProcess) -> str:
    return f"rank {process.rank} on {process.host}"


def _named(causes: list[str], process: HungProcess) -> str:
    more = f" and {len(causes) - MOST_NAMED} more" if len(causes) > MOST_NAMED else ""
    return f"{', '.join(causes[:MOST_NAMED])}{more} ({process.place})"
