# SPDX-License-Identifier: Apache-2.0
"""Files in which a made-up node counts, and the records of such nodes in made-up logs. Nothing is taken from
`postprocess`."""

from copy import deepcopy
from pathlib import Path

POWERCAP = "sys/class/powercap"
PM_COUNTERS = "sys/cray/pm_counters"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
DEVICES = "proc/net/dev"
LARGEST = 262143328850  # of a real package, in uJ

HEADER = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
"""


def put(root, path, text):
    """Writes a file of the tree; the text of sysfs ends with a newline."""
    file = Path(root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_text(f"{text}\n")


def zone(root, number, name, energy_uj, largest=LARGEST):
    """A zone of RAPL."""
    put(root, f"{POWERCAP}/intel-rapl:{number}/name", name)
    put(root, f"{POWERCAP}/intel-rapl:{number}/energy_uj", energy_uj)
    put(root, f"{POWERCAP}/intel-rapl:{number}/max_energy_range_uj", largest)


def port(root, **counted):
    """Counters of the port of an InfiniBand adapter."""
    for name, value in counted.items():
        put(root, f"{PORT}/counters/{name}", value)


def devices(root, **counted):
    """/proc/net/dev with (receive_bytes, receive_errors, transmit_bytes, transmit_errors) of each device."""
    lines = [
        f"{name:>6}: {received} 11 {bad} 2 0 0 0 0 {sent} 12 {worse} 3 0 0 0 0"
        for name, (received, bad, sent, worse) in {"lo": (5, 0, 5, 0), **counted}.items()
    ]
    put(root, DEVICES, HEADER + "\n".join(lines))


def source(counter, instance="", largest=None):
    return {"counter": counter, "instance": instance} | ({"largest": largest} if largest else {})


def host(values):
    """What a host with these values logs; it has no source whose value is `absent`."""
    has = [number for number, value in enumerate(values) if value != "absent"]
    own = [deepcopy(values[number]) for number in has]
    return {"values": own} if len(has) == len(values) else {"values": own, "has": has}


def with_counters(records, sources, values, phase="run", seconds=None, longest=None):
    """The records of a log with those of its nodes, in place of those of this phase if it has them: `values` are lists
    in the order of `sources`, one for each host."""
    records = [record for record in records if record.get("phase") != phase]
    before = "counters" if phase == "idle" else "activity"
    place = next(number for number, record in enumerate(records) if record["record"] == before)
    elapsed = seconds or records[place]["elapsed_seconds"]
    times = {"elapsed_seconds": elapsed, "longest_seconds": longest or elapsed}
    known = {"record": "counters", "phase": phase, "sources": deepcopy(sources), "absent": ["cray_energy"]}
    counted = {**known, **times, "hosts": [host(own) for own in values]}
    return [*records[:place], counted, *records[place:]]
