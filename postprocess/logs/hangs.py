# SPDX-License-Identifier: Apache-2.0
"""Why a run hangs, from the places and states of its processes."""

import re
from collections.abc import Sequence

from coffeecup.postprocess.logs.records import HungProcess

MOST_NAMED = 4  # processes that one sentence names
# Functions of Linux in which a process waits for other processes, for time or for nothing, not for a file system.
NO_FILE = re.compile("poll|futex|nanosleep|pipe|wait_woken|sigsuspend|sigtimedwait|do_wait|sys_pause|hrtimeout")


def verdict(processes: Sequence[HungProcess]) -> str:
    """One sentence that names the cause, by the strongest proof: processes that are gone or do not run; processes that
    wait in the kernel for a file; adapters that lost their link; a pair of processes between which a message is lost;
    processes or a node that have not ended the loop that all others have ended; otherwise that the cause is not known,
    and where the run was."""
    if idle := [process for process in processes if process.state in ("gone", "zombie", "stopped", "traced")]:
        return _named([f"{_name(process)} is {process.state}" for process in idle], idle[0])
    if waiting := [process for process in processes if _waits_for_file(process)]:
        return _named([f"{_name(process)} waits for {_file(process)}" for process in waiting], waiting[0])
    if not processes:
        return "the log has no process of it: cannot tell which one is the cause"
    if causes := [*_lost_links(processes), *_lost_messages(processes)]:
        return _named(causes, min(processes, key=_progress))
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


def _progress(process: HungProcess) -> tuple[int, int]:
    return process.steps, process.messages


def _lost_links(processes: Sequence[HungProcess]) -> list[str]:
    """Nodes with adapters that lost their link."""
    adapters = {process.host: process.adapters_lost for process in processes if process.adapters_lost}
    return [f"{' and '.join(names)} of {host} lost the link" for host, names in adapters.items()]


def _lost_messages(processes: Sequence[HungProcess]) -> list[str]:
    """Every process sends its messages of an exchange before it waits for those of others. So the one that received
    the fewest waits for a message that was sent, and all others wait for that process; so do two that received the
    fewest if they exchange messages only with each other. Nothing if it is neither."""
    behind = min(map(_progress, processes))
    last = [process for process in processes if _progress(process) == behind]
    ranks = {process.rank: process for process in processes}
    senders = [ranks[rank] for rank in last[0].receives_from if rank in ranks]
    if len(last) == 2 and [{each.rank} for each in last[::-1]] == [set(each.receives_from) for each in last]:
        return [f"{_name(last[0])} and {_name(last[1])} wait for messages from each other"]
    if len(last) > 1 or not senders:
        return []
    cut = [other for other in senders if other.host != last[0].host and (other.adapters_lost or last[0].adapters_lost)]
    return [f"{_name(last[0])} waits for a message from {' or '.join(map(_name, cut or senders))}"]


def _waits_for_file(process: HungProcess) -> bool:
    """In a loop of accesses to a file, and in the kernel for something else than other processes."""
    if process.file is None or process.steps % 2 == 0:
        return False
    function = process.kernel_function
    asleep = process.state == "sleeping" and function is not None and not NO_FILE.search(function)
    return asleep or process.state == "in the kernel"


def _file(process: HungProcess) -> str:
    """The file, its file system and its server or device."""
    file = process.file
    if file is None:
        return "no file"
    source = f" {file.source}" if file.source else ""
    return f"{file.path} on {file.type}{source}"


def _name(process: HungProcess) -> str:
    return f"rank {process.rank} on {process.host}"


def _named(causes: list[str], process: HungProcess) -> str:
    more = f" and {len(causes) - MOST_NAMED} more" if len(causes) > MOST_NAMED else ""
    return f"{', '.join(causes[:MOST_NAMED])}{more} ({process.place})"
