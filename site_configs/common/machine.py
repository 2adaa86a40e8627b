# SPDX-License-Identifier: Apache-2.0
"""Facts of this machine: scheduler and partitions, cores and memory, MPI, file systems, Spack. Each fact states the
command it comes from; a missing command yields no fact."""

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from reframe_checks import batch
from reframe_checks.batch import ask, minutes

PARALLEL = ("lustre", "gpfs", "beegfs", "ceph", "fuse.glusterfs", "panfs", "pvfs2", "orangefs", "daos", "wekafs")
NETWORK = ("nfs", "nfs4", "cifs")
LOCAL = ("ext4", "xfs", "btrfs", "zfs", "overlay")
NOT_FOR_FILES = ("/boot", "/etc", "/proc", "/sys", "/dev", "/run", "/usr", "/var/lib")


@dataclass(frozen=True)
class Partition:
    """A partition or queue. Cores are hardware cores if the scheduler reports them, otherwise what it schedules; 0
    minutes: no limit."""

    name: str
    nodes: int
    cores_per_node: int
    cpus_per_node: int
    memory_mib: int
    minutes: int
    default: bool = False
    several_kinds: bool = False


@dataclass(frozen=True)
class FileSystem:
    """A mounted file system in which this user can write."""

    directory: str
    kind: str
    total_bytes: int
    free_bytes: int


def finds(command, modules=()):
    """Whether a command is on PATH, after loading these modules, if any."""
    if not modules:
        return shutil.which(command) is not None
    loaded = f"module load {' '.join(map(shlex.quote, modules))} && command -v {shlex.quote(command)}"
    return ask("bash", "-lc", loaded) is not None


def scheduler():
    """ReFrame's name of the scheduler of this machine, and how it was detected."""
    if ask("sinfo", "--version"):
        accounted = ask("sacct", "--noheader", "--starttime=now") is not None
        return (
            ("slurm", "sacct answers: accounting is on")
            if accounted
            else ("squeue", "sacct does not answer: no accounting")
        )
    if said := ask("pbsnodes", "--version") or ask("qstat", "--version"):
        return "pbspro", f"qstat --version: {said.splitlines()[0]}"
    return "local", "neither sinfo nor pbsnodes answers"


def partitions(found):
    """All partitions of that scheduler."""
    return {"slurm": slurm_partitions, "squeue": slurm_partitions, "pbspro": pbs_queues}.get(found, this_machine)()


def slurm_partitions():
    """From sinfo; nodes of several kinds in one partition are counted together, with the cores and memory of the
    smallest."""
    rows = {}
    for line in (ask("sinfo", "--noheader", "--format=%P|%D|%c|%X|%Y|%m|%l") or "").splitlines():
        name, nodes, cpus, sockets, cores, memory, limit = line.split("|")
        rows.setdefault(name, []).append(
            (int(nodes), number(cpus), number(sockets) * number(cores), number(memory), minutes(limit))
        )
    return [
        Partition(
            name.rstrip("*"),
            sum(row[0] for row in kinds),
            min(row[2] for row in kinds),
            min(row[1] for row in kinds),
            min(row[3] for row in kinds),
            kinds[0][4],
            name.endswith("*"),
            len({row[1:4] for row in kinds}) > 1,
        )
        for name, kinds in rows.items()
    ]


def pbs_queues():
    """All queues that run jobs."""
    return [
        Partition(
            name,
            queue["nodes"],
            queue["cores"],
            queue["cores"],
            queue["memory_mib"],
            queue["minutes"],
            several_kinds=queue["several_kinds"],
        )
        for name, queue in batch.pbs_queues().items()
    ]


def this_machine():
    """One partition: the cores that this process may use."""
    memory = Path("/proc/meminfo").read_text(encoding="ascii") if Path("/proc/meminfo").exists() else ""
    total = re.search(r"MemTotal: +(\d+)", memory)
    mib = int(total[1]) // 1024 if memory else 0  # pyright: ignore[reportOptionalSubscript]: Linux states it
    cores = len(os.sched_getaffinity(0))
    return [Partition("default", 1, cores, cores, mib, 0, True)]


def number(text):
    """Leading digits: Slurm marks a least value among several by a plus sign."""
    return int(re.match(r"\d+", text)[0])  # pyright: ignore[reportOptionalSubscript]: there always are some


def mpi_compiler():
    """(command, what it is, how it was found); (None, "", reason) where there is none. Cray's wrappers come first:
    there is no mpicc beside."""
    if os.environ.get("CRAYPE_VERSION") and shutil.which("cc"):
        return "cc", f"Cray's wrapper {os.environ['CRAYPE_VERSION']}", "CRAYPE_VERSION is set"
    if not shutil.which("mpicc"):
        return None, "", "there is no mpicc on PATH; load a module or install MPI, and name the compiler here"
    library = (ask("mpirun", "--version") or ask("mpicc", "--version") or "of unknown kind").splitlines()[0]
    return "mpicc", library, "mpirun --version"


def launcher(found):
    """(ReFrame's launcher, variables that it needs, how it was found)."""
    if found not in ("slurm", "squeue"):
        return "mpirun", [], "mpirun starts processes on the nodes that the scheduler gave"
    kinds = set(re.findall(r"\b(pmix|pmi2|cray_shasta)\b", ask("srun", "--mpi=list") or ""))
    library = mpi_compiler()[1]
    if "Cray" in library or "cray_shasta" in kinds:
        return "srun", [], "srun --mpi=list has Cray's plug-in"
    if "Open MPI" in library and "pmix" in kinds:
        return "srun", [["SLURM_MPI_TYPE", "pmix"]], "srun --mpi=list has pmix"
    if "Open MPI" not in library and "pmi2" in kinds:
        return "srun", [["SLURM_MPI_TYPE", "pmi2"]], "srun --mpi=list has pmi2"
    return "mpirun", [], "srun --mpi=list has no plug-in for this MPI"


def file_systems():
    """Where this user can write, parallel file systems first, each mounted device once."""
    found, devices = [], set()
    wanted = PARALLEL + NETWORK + LOCAL
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        device, directory, kind = line.split()[:3]
        directory = directory.encode().decode("unicode_escape")
        if kind not in wanted or directory.startswith(NOT_FOR_FILES):
            continue
        place = next(
            (
                place
                for place in (
                    f"{directory.rstrip('/')}/{os.environ.get('USER', '')}",
                    directory,
                    f"{directory.rstrip('/')}/tmp",
                )
                if Path(place).is_dir() and os.access(place, os.W_OK) and Path(place) != Path("/")
            ),
            None,
        )
        if place is None or (device, kind) in devices:
            continue
        devices.add((device, kind))
        usage = shutil.disk_usage(place)
        found.append(FileSystem(place.rstrip("/"), kind, usage.total, usage.free))
    return sorted(found, key=lambda entry: [entry.kind not in group for group in (PARALLEL, NETWORK)])


def file_system_of(directory):
    """Type of the file system that holds a directory."""
    return ask("stat", "--file-system", "--format=%T", str(directory)) or "unknown"
