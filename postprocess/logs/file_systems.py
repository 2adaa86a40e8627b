# SPDX-License-Identifier: Apache-2.0
"""The parameters of the file system under test, as the b_eff_io paper demands them (section 3.2): "Filesystem
parameters are (a) which filesystem is used, (b) how many nodes or processors are used as I/O servers, (c) how much
memory is used as bufferspace on each application node, (d) the disk block size, (e) the striping unit size, and (f) the
number of parallel striping devices that are used. [...] The chosen filesystem, its parameters and any usage of
non-default parameters must be reported." The memory (c) is among the hosts of a log."""

from collections.abc import Iterable
from itertools import chain

from coffeecup.postprocess.logs.io_records import FileServers, Striping
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Filesystem, Target
from coffeecup.postprocess.show.words import counted, size

# Options of mounts that may differ from node to node, or from mount to mount, without a change of the file system.
VOLATILE = {"addr", "clientaddr", "fd", "lowerdir", "mountaddr", "mountport", "pgrp", "pipe_ino", "upperdir", "workdir"}


MOST_NAMED = 64  # servers, in the report
FILL, FULLEST = "fill of the file system (%)", "fill of its fullest target (%)"


def facts_of(log: Log) -> dict[str, str | float]:
    """What stays the same from mount to mount unless somebody changes it, and how full the file system is. A composite
    layout has more stripes in longer files, so that only the largest number of stripes is a fact."""
    if (found := log.run.filesystem) is None:
        return {}
    options = sorted(option for option in found.mount_options if option.partition("=")[0] not in VOLATILE)
    stated = {"file system": found.name, "mount options": ", ".join(options), "block size": block_size(found)} | {
        "stripes": max(((one.stripes or 0, stripes(one)) for one in stripings(log)), default=(0, ""))[1]
    }
    full = {FILL: fill_of(found)} if found.total_bytes else {}
    return stated | full | ({FULLEST: fill_of(target)} if (target := found.fullest_target) else {})


def fill_of(part: Filesystem | Target) -> float:
    """In per cent."""
    return 100 * (1 - part.free_bytes / part.total_bytes)


def stripings(log: Log) -> list[Striping]:
    """Of all files of the run, each once."""
    found = (one for record in chain(*log.by_class.values()) for one in getattr(record, "striping", ()))
    return list({repr(one): one for one in found}.values())


def servers(log: Log) -> list[str]:
    """Of all files whose servers are known, each once, in alphabetical order."""
    layouts = (record for record in chain(*log.by_class.values()) if isinstance(record, FileServers))
    names = [name for record in layouts for name in record.servers]
    names += [one.server for one in stripings(log) if one.server]
    return sorted({word for name in names for word in name.split()})


def stripes(one: Striping) -> str:
    if one.stripes is None or one.stripe_bytes is None:
        return ""
    pool = f", pool {one.pool}" if one.pool else ""
    return f"{counted(one.stripes, 'stripe')} of {size(one.stripe_bytes)}{pool}"


def free_of(part: Filesystem | Target) -> str:
    return f"{size(part.free_bytes)} free of {size(part.total_bytes)}"


def block_size(found: Filesystem) -> str:
    if found.block_bytes is None or found.fragment_bytes in (None, found.block_bytes):
        return size(found.block_bytes) if found.block_bytes else ""
    return f"{size(found.block_bytes)}, allocated in units of {size(found.fragment_bytes)}"


def rows(log: Log) -> list[tuple[str, str]]:
    """Label and text of each parameter, for the report."""
    if (found := log.run.filesystem) is None:
        return []
    of_files = stripings(log)
    names = servers(log)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    layouts = [
        ("Preferred size of a call", unique(size(one.preferred_bytes) for one in of_files)),
        ("Stripes of the files", unique(map(in_words, of_files)) or "not stated by the file system"),
        (
            "Servers of the files",
            f"{len(names)}: {', '.join(names[:MOST_NAMED])}{more}" if names else "not stated by the file system",
        ),
    ]
    return [
        ("Type", found.type),
        ("Mounted from", found.source or "not stated by the system"),
        ("Mounted at", found.mount_point or "not stated by the system"),
        ("Directory", found.directory),
        ("Mount options", ", ".join(found.mount_options) or "not stated by the system"),
        ("Block size", block_size(found) or "not stated by the file system"),
        ("Size", free_of(found)),
        *([("Fullest target", f"{target.name}: {free_of(target)}")] if (target := found.fullest_target) else []),
        *(layouts if of_files else []),
    ]


def in_words(one: Striping) -> str:
    return stripes(one) + (f" in the widest of {one.parts} parts" if (one.parts or 0) > 1 else "")


def unique(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
