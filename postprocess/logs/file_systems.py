# SPDX-License-Identifier: Apache-2.0
"""The parameters of the file system under test, as the b_eff_io paper demands them (section 3.2): "Filesystem
parameters are (a) which filesystem is used, (b) how many nodes or processors are used as I/O servers, (c) how much
memory is used as bufferspace on each application node, (d) the disk block size, (e) the striping unit size, and (f) the
number of parallel striping devices that are used. [...] The chosen filesystem, its parameters and any usage of
non-default parameters must be reported." The memory (c) is among the hosts of a log."""

from postprocess.logs.reader import Log
from postprocess.logs.records import Filesystem
from postprocess.show.words import size

# Options of mounts that may differ from node to node, or from mount to mount, without a change of the file system.
VOLATILE = {"addr", "clientaddr", "fd", "lowerdir", "mountaddr", "mountport", "pgrp", "pipe_ino", "upperdir", "workdir"}


def facts_of(found: Filesystem) -> dict[str, str]:
    """What stays the same from mount to mount unless somebody changes it."""
    options = sorted(option for option in found.mount_options if option.partition("=")[0] not in VOLATILE)
    return {"file system": found.name, "mount options": ", ".join(options), "block size": block_size(found)}


def block_size(found: Filesystem) -> str:
    if found.block_bytes is None or found.fragment_bytes in (None, found.block_bytes):
        return size(found.block_bytes) if found.block_bytes else ""
    return f"{size(found.block_bytes)}, allocated in units of {size(found.fragment_bytes)}"


def rows(log: Log) -> list[tuple[str, str]]:
    """Label and text of each parameter, for the report."""
    if (found := log.run.filesystem) is None:
        return []
    return [
        ("Type", found.type),
        ("Mounted from", found.source or "not stated by the system"),
        ("Mounted at", found.mount_point or "not stated by the system"),
        ("Directory", found.directory),
        ("Mount options", ", ".join(found.mount_options) or "not stated by the system"),
        ("Block size", block_size(found) or "not stated by the file system"),
        ("Size", f"{size(found.free_bytes)} free of {size(found.total_bytes)}"),
    ]
