# SPDX-License-Identifier: Apache-2.0
"""Other use of a run's machine while it ran: its processors by other programs and virtual machines, its directory under
test by other runs."""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Activity, Host, Overlap
from coffeecup.postprocess.show.words import digits

OTHERS_CORES = 0.1  # allowed for the daemons of a quiet machine
OTHERS_SHARE = 0.01  # or this share of the host's cores, whichever is more
STOLEN_SHARE = 0.01  # of the host's cores
DISTURBED = frozenset({"load_of_others", "stolen", "overlapped"})  # keys of qualifications: others disturbed the run


class Use(NamedTuple):
    """The average number of processors of a host that other user programs and the hypervisor's other guests used during
    the run."""

    host: Host
    others_cores: float
    stolen_cores: float


def use_of_hosts(log: Log) -> list[Use]:
    """In the order of the run's hosts; empty if the kernel could not measure it."""
    return [
        Use(host, used.others_user_seconds / activity.elapsed_seconds, used.stolen_seconds / activity.elapsed_seconds)
        for activity in log.all(Activity)
        for host, used in zip(log.run.hosts, activity.hosts)
    ]


def of_overlap(log: Log) -> Iterator[tuple[str, str]]:
    """Qualification by other runs in the directory under test."""
    for record in log.all(Overlap):
        names = ", ".join(record.directories) or "a shorter one"
        yield (
            "overlapped",
            f"Other runs of coffeecup used the directory under test during this one: {names}; a directory that a "
            "killed run left there counts until it is removed",
        )


def of_activity(log: Log) -> Iterator[tuple[str, str]]:
    """Qualifications by the activity of others."""
    uses = use_of_hosts(log)
    if not uses and not log.run.simulated:
        yield "activity_unknown", "Whether others used the machine during the run is not known"
    if busy := [
        (use.others_cores, use.host)
        for use in uses
        if use.others_cores > max(OTHERS_CORES, OTHERS_SHARE * use.host.cores)
    ]:
        yield "load_of_others", f"Others were using the machine: their programs {used(busy)}"
    if busy := [(use.stolen_cores, use.host) for use in uses if use.stolen_cores > STOLEN_SHARE * use.host.cores]:
        yield "stolen", f"The hypervisor gave time to other machines: they {used(busy)}"


def used(busy: list[tuple[float, Host]]) -> str:
    cores, host = max(busy, key=itemgetter(0))
    more = f" and less of {len(busy) - 1} more host{'s' * (len(busy) > 2)}" if len(busy) > 1 else ""
    return f"used {digits(cores)} of {host.online_cores} cores of {host.name}{more}, on average over the run"
