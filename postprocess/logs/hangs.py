# SPDX-License-Identifier: Apache-2.0
"""Why a run hangs, from the places and states of its processes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from coffeecup.postprocess.logs.records import End, HungProcess

MOST_NAMED = 4  # causes that one sentence names
# Functions of Linux in which a process waits for other processes, for time or for nothing, not for a file system.
NO_FILE = re.compile("poll|futex|nanosleep|pipe|wait_woken|sigsuspend|sigtimedwait|do_wait|sys_pause|hrtimeout")


class Cause(NamedTuple):
    """A text, and the processes on the nodes that it names."""

    text: str
    processes: Sequence[HungProcess]


def stored(log: Path) -> dict:
    """What a session keeps of a run that hangs: `hang` has the verdict and the nodes that it names. Nothing of
    any other log."""
    try:
        end = msgspec.json.decode(log.read_bytes().rstrip(b"\n").rpartition(b"\n")[2], type=End)
    except msgspec.MsgspecError:
        return {}
    if end.status != "hung":
        return {}
    nodes = {process.host for cause in causes(end.processes or []) for process in cause.processes}
    return {"hang": {"verdict": verdict(end.processes or []), "nodes": sorted(nodes)}}


def verdict(processes: Sequence[HungProcess]) -> str:
    """One sentence that names the causes, or that they are not known, and where the run was."""
    if not processes:
        return "the log has no process of it: cannot tell which one is the cause"
    if found := causes(processes):
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        place = next(iter(found[0].processes)).place
        return f"{', '.join(cause.text for cause in found[:MOST_NAMED])}{more} ({place})"
    last = _last(processes)
    if len(last) == len(processes) or not _in_loop(last[0]):
        return f"cannot tell the cause: all processes wait ({last[0].place})"
    return f"cannot tell the cause: {len(last)} of {len(processes)} processes are in a loop ({last[0].place})"


def causes(processes: Sequence[HungProcess]) -> list[Cause]:
    """Those with the strongest proof: processes that are gone or do not run; processes that wait in the kernel for a
    file; adapters that lost their link, or a pair of processes between which a message is lost; processes that wait in
    the kernel; processes or a node that have not ended the loop that all others have ended. Empty if nothing is
    proved."""
    idle = [process for process in processes if process.state in ("gone", "zombie", "stopped", "traced")]
    waiting = [process for process in processes if _waits_for_file(process)]
    asleep = [process for process in processes if process.state == "in the kernel"]
    return (
        [Cause(f"{_name(process)} is {process.state}", [process]) for process in idle]
        or [Cause(f"{_name(process)} waits for {_file(process)}", [process]) for process in waiting]
        or _lost(processes)
        or [Cause(f"{_name(process)} waits {_in_kernel(process)}", [process]) for process in asleep]
        or _behind(processes)
    )


def _lost(processes: Sequence[HungProcess]) -> list[Cause]:
    """Links and messages."""
    messages = _lost_messages(processes)
    of_host = {process.host: process for process in processes if process.adapters_lost}
    links = [
        Cause(f"{' and '.join(one.adapters_lost)} of {host} lost the link", [one]) for host, one in of_host.items()
    ]
    return [*links, *(Cause(text, []) for text, _ in messages)] if links else messages


def _progress(process: HungProcess) -> tuple[int, int]:
    return process.steps, process.messages


def _lost_messages(processes: Sequence[HungProcess]) -> list[Cause]:
    """Every process sends its messages of an exchange before it waits for those of others. So of those that wait for a
    message, the one that received the fewest waits for a message that was sent, and all others wait for that process;
    so do two that received the fewest if they exchange messages only with each other. Nothing if it is neither, or if
    a process has not come to that loop."""
    receiving = [process for process in processes if process.receives_from]
    behind = min(map(_progress, receiving), default=(0, 0))
    last = [process for process in receiving if _progress(process) == behind]
    if any(process.steps < behind[0] for process in processes):
        return []
    if len(last) == 2 and [{each.rank} for each in last[::-1]] == [set(each.receives_from) for each in last]:
        return [Cause(f"{_name(last[0])} and {_name(last[1])} wait for messages from each other", last)]
    if len(last) != 1:
        return []
    ranks = {process.rank: process for process in processes}
    known = [ranks[rank] for rank in last[0].receives_from if rank in ranks]
    unknown = [f"rank {rank}, of which nothing is known" for rank in last[0].receives_from if rank not in ranks]
    cut = [other for other in known if other.host != last[0].host and (other.adapters_lost or last[0].adapters_lost)]
    names = " or ".join([_name(other) for other in cut] or [*map(_name, known), *unknown])
    return [Cause(f"{_name(last[0])} waits for a message from {names}", [*last, *(cut or known)])]


def _last(processes: Sequence[HungProcess]) -> list[HungProcess]:
    fewest = min(process.steps for process in processes)
    return [process for process in processes if process.steps == fewest]


def _in_loop(process: HungProcess) -> bool:
    return process.steps % 2 != 0


def _behind(processes: Sequence[HungProcess]) -> list[Cause]:
    """Processes that have not ended a loop, if they are a whole node, or not more than two."""
    last = _last(processes) if processes else []
    if len(last) == len(processes) or not _in_loop(last[0]):
        return []
    if len(last) == 1:
        return [Cause(f"{_name(last[0])} has not ended a loop that all others have ended", last)]
    if len(last) == 2:
        return [Cause(f"{_name(last[0])} and {_name(last[1])} wait for each other", last)]
    if {process.host for process in processes if process not in last} & {process.host for process in last}:
        return []
    if len({process.host for process in last}) > 1:
        return []
    return [Cause(f"all processes of {last[0].host} are in a loop that those of other nodes have ended", last)]


def _waits_for_file(process: HungProcess) -> bool:
    """In a loop of accesses to a file, and in the kernel for something else than other processes."""
    if process.file is None or not _in_loop(process):
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


def _in_kernel(process: HungProcess) -> str:
    """Outside of a loop, where it may wait for the log's file system as well as for that of its file."""
    function = f" ({process.kernel_function})" if process.kernel_function else ""
    return f"in the kernel{function}{f', its last file was {_file(process)}' if process.file else ''}"


def _name(process: HungProcess) -> str:
    return f"rank {process.rank} on {process.host}"
