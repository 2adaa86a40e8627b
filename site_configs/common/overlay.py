# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site overlay`: the facts that checks need and that a configuration written for other tests does not state,
in a small file beside it; guesses are marked LOOK."""

import datetime
import socket
from pathlib import Path

import yaml
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import init_runtime, runtime

from coffeecup.reframe_checks.environments import mpi_environments
from coffeecup.reframe_checks.partitions import compute_partitions, extras_of, overlay_path
from coffeecup.reframe_checks.sizes import missing_sizes, room
from coffeecup.reframe_checks.vocabulary import MPI, Extra, Feature

from . import machine
from .tree import SiteError, load_configuration

HEADER = """\
# What coffeecup has to know about the system {name} beyond {file}.
# Written by `coffeecup site overlay` on {host}, {date}. Keys are those of a partition in ReFrame's
# configuration; docs/vocabulary.md explains the extras. Every fact states its source, and a guess is marked LOOK.
partitions:
"""
SOURCES = {"slurm": "scontrol", "squeue": "scontrol", "pbs": "qstat and pbsnodes", "pbspro": "qstat and pbsnodes"}


def make_overlay(file, name):
    """(path of the written overlay, uncertain facts, missing ones) of a system of a ReFrame configuration, or of one
    partition, SYSTEM:PARTITION. Raises SiteError."""
    file = Path(file).resolve()
    configuration = load_configuration(file)
    try:
        configuration.select_subconfig(name, ignore_resolve_errors=True)
        init_runtime(configuration)
    except ReframeError as error:
        raise SiteError(f"{file}: {error}") from None
    name = runtime().system.name
    path = overlay_path(file, name)
    if path.exists():
        raise SiteError(f"{path} already exists: edit it, or remove it first")
    computing = compute_partitions()
    file_systems, uncertain = machine.file_systems()
    lines, missing = [], []
    for partition in runtime().system.partitions:
        lines.append(f"  {partition.name}:")
        if partition in computing:
            lines += of_partition(partition, file_systems, uncertain, missing)
        else:
            lines.append(f"    features: [{Feature.LOGIN}]  # no scheduler, beside partitions that have one")
    if file_systems:
        uncertain.append("file systems were seen on this host: remove those that compute nodes lack or nobody wants")
    else:
        uncertain.append("no file system to measure was found: I/O checks use ReFrame's stage directory")
    header = HEADER.format(name=name, file=file.name, host=socket.gethostname(), date=datetime.date.today())  # noqa: DTZ011
    try:
        path.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write {path}: {error.strerror}") from None
    return path, uncertain, missing


def of_partition(partition, file_systems, uncertain, missing):
    """The lines of a partition for computing."""
    lines = [*environments(partition, uncertain), "    extras:"]
    stated, source = partition.extras, SOURCES.get(partition.scheduler.registered_name, "")
    facts = {extra: value for extra, value in extras_of(partition).items() if extra not in stated}
    lines += [f"      {extra}: {value}  # {source}" for extra, value in facts.items()]
    offered = room(partition)
    for extra in missing_sizes(partition):
        lines.append(f"      # LOOK: {extra}: N")
        missing.append(f"{extra} of {partition.name}")
    if offered.nodes > 1 and not {Extra.NUM_NODES, Extra.MAX_NODES} & {*stated}:
        lines.append(f"      max_nodes: {offered.nodes}  # LOOK: all nodes")
        uncertain.append(f"partition {partition.name!r}: checks use all {offered.nodes} nodes: lower max_nodes")
    if file_systems and Extra.FILE_SYSTEMS not in stated:
        lines.append(f"      {Extra.FILE_SYSTEMS}:  # LOOK: /proc/mounts of this host")
        lines += [
            f"        - {flow({'name': entry.name, 'directory': entry.directory})}  # {entry.kind}"
            for entry in file_systems
        ]
    return lines if lines[-1] != "    extras:" else [*lines[:-1], "    extras: {}"]


def environments(partition, uncertain):
    """The line that names the environments with MPI, where there is a choice."""
    names = [environment.name for environment in partition.environs]
    chosen = mpi_environments(partition)
    if len(names) < 2:
        return []
    if any(MPI in environment.features for environment in partition.environs):
        why = f"feature {MPI}"
    elif chosen == names:
        why = "LOOK: all, because none or every one compiles an MPI program here"
    else:
        why = "LOOK: those that compile an MPI program on this host"
    if "LOOK" in why:
        uncertain.append(f"partition {partition.name!r}: environments {', '.join(chosen)} were tried on this host only")
    return [f"    environs: {flow(chosen)}  # {why}"]


def flow(value):
    """YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000).strip()
