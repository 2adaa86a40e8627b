# SPDX-License-Identifier: Apache-2.0
"""Other use of the processors of a run's hosts while it ran: by other programs and by other virtual machines."""

from collections.abc import Iterator

from postprocess.logs.reader import Log
from postprocess.show.words import digits

OTHERS_CORES = 0.1  # allowed for the daemons of a quiet machine
OTHERS_SHARE = 0.01  # or this share of the host's cores, whichever is more
STOLEN_SHARE = 0.01  # of the host's cores


def hosts_with_activity(log: Log) -> list[dict]:
    """The log's hosts, each with `others_cores` and `stolen_cores`: the average number of processors that other user
    programs and the hypervisor's other guests used during the run. Both are None if the kernel could not measure
    them."""
    hosts, found = log.run["hosts"], log.records.get("activity", [])
    if not found:
        return [{**host, "others_cores": None, "stolen_cores": None} for host in hosts]
    elapsed = found[0]["elapsed_seconds"]
    return [
        {
            **host,
            "others_cores": used["others_user_seconds"] / elapsed,
            "stolen_cores": used["stolen_seconds"] / elapsed,
        }
        for host, used in zip(hosts, found[0]["hosts"])
    ]


def of_activity(log: Log) -> Iterator[tuple[str, str]]:
    """Qualifications by the activity of others."""
    hosts = [host for host in hosts_with_activity(log) if host["others_cores"] is not None]
    if not hosts and not log.run["simulated"]:
        yield "activity_unknown", "Whether others used the machine during the run is not known"
    for key, who, limit in (
        (
            "load_of_others",
            "Others were using the machine: their programs",
            lambda host: max(OTHERS_CORES, OTHERS_SHARE * host["cores"]),
        ),
        ("stolen", "The hypervisor gave time to other machines: they", lambda host: STOLEN_SHARE * host["cores"]),
    ):
        field = "others_cores" if key == "load_of_others" else "stolen_cores"
        if busy := sorted((host for host in hosts if host[field] > limit(host)), key=lambda host: -host[field]):
            more = f" and less of {len(busy) - 1} more host{'s' * (len(busy) > 2)}" if len(busy) > 1 else ""
            yield (
                key,
                f"{who} used {digits(busy[0][field])} of {busy[0]['cores']} cores of {busy[0]['name']}{more}, on "
                "average over the run",
            )
