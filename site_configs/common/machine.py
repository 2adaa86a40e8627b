# SPDX-License-Identifier: Apache-2.0
"""Facts of this machine: scheduler and partitions, cores and memory, MPI, file systems, Spack. Each fact states the
command it comes from; a missing command yields no fact."""

import json
import os
import re
import select
import shlex
import shutil
import signal
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coffeecup.reframe_checks import batch
from coffeecup.reframe_checks.batch import ask

PARALLEL = ("lustre", "gpfs", "beegfs", "ceph", "fuse.glusterfs", "panfs", "pvfs2", "orangefs", "daos", "wekafs")
NETWORK = ("nfs", "nfs4", "cifs")
LOCAL = ("ext4", "xfs", "btrfs", "zfs", "overlay")
# What `mpirun --version` prints; Debian's Open MPI calls itself OpenRTE.
MPI_WORDS = {"Open MPI": "Open MPI|OpenRTE|PRRTE|prterun", "Intel MPI": "Intel", "MPICH": "HYDRA|MPICH|mpiexec"}
PLUG_INS = {"Open MPI": "pmix", "Intel MPI": "pmi2", "MPICH": "pmi2"}  # of srun, that start these libraries
PATIENCE = 10  # seconds for a file system to answer
NOT_FOR_FILES = ("/boot", "/etc", "/proc", "/sys", "/dev", "/run", "/usr", "/var/lib")


@dataclass(frozen=True)
class Partition:
    """A partition or queue. Cores are hardware cores if the scheduler reports them, otherwise what it schedules; 0
    minutes: no limit."""

    name: str
    nodes: int
    cores_per_node: int
    memory_mib: int
    minutes: int
    several_kinds: bool = False
    max_nodes: int = 0  # that a job may take; 0: all
    sizes: tuple[int, ...] = ()  # of jobs, where they need several nodes
    queue: str = ""  # the scheduler's name, if it differs
    options: tuple[str, ...] = ()  # that a job needs besides it


@dataclass(frozen=True)
class FileSystem:
    """A mounted file system in which this user can write, and a short name for it."""

    name: str
    directory: str
    kind: str
    total_bytes: int
    free_bytes: int


def path_of(command, modules=()):
    """Where a command is in a job script, after it loads these modules, if any; None if it is not on PATH. As ReFrame's
    scripts do, it runs in no login shell."""
    if not modules:
        return shutil.which(command)
    loaded = f"module load {' '.join(map(shlex.quote, modules))} && command -v {shlex.quote(command)}"
    return ask("bash", "-c", loaded)


def modules_system():
    """ReFrame's name of the module system of this shell; empty if there is none."""
    if os.environ.get("LMOD_CMD"):
        return "lmod"
    if not (command := os.environ.get("MODULES_CMD")):
        return ""
    version = re.search(r"(\d+)\.", ask(command, "bash", "--version") or "4.")
    return "tmod4" if version and int(version[1]) >= 4 else "tmod32"


def loaded_modules():
    """The modules that are loaded now, in their order."""
    return [name for name in os.environ.get("LOADEDMODULES", "").split(":") if name]


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


def pbs_queues():
    """All queues that run jobs."""
    return [Partition(name, **queue) for name, queue in batch.pbs_queues().items()]


def this_machine():
    """One partition: the cores that this process may use."""
    memory = Path("/proc/meminfo").read_text(encoding="ascii") if Path("/proc/meminfo").exists() else ""
    total = re.search(r"MemTotal: +(\d+)", memory)
    mib = int(total[1]) // 1024 if memory else 0  # pyright: ignore[reportOptionalSubscript]: Linux states it
    return [Partition("default", 1, len(os.sched_getaffinity(0)), mib, 0)]


def mpi_compiler():
    """(command, library and version, how it was found); (None, "", reason) where there is none. Cray's wrappers come
    first: there is no mpicc beside."""
    if os.environ.get("CRAYPE_VERSION") and shutil.which("cc"):
        return "cc", f"Cray's wrapper {os.environ['CRAYPE_VERSION']}", "CRAYPE_VERSION is set"
    if not shutil.which("mpicc"):
        return None, "", "there is no mpicc on PATH; load a module or install MPI, and name the compiler here"
    return "mpicc", mpi_library() or "an MPI library of unknown kind", f"{shutil.which('mpicc')}, mpirun --version"


def mpi_library():
    """Name and version of the MPI library that `mpirun` belongs to; empty if that is unknown."""
    printed = ask("mpirun", "--version") or ""
    name = next((name for name, word in MPI_WORDS.items() if re.search(word, printed)), "")
    version = re.search(r"\d+(\.\d+)+", printed)
    return f"{name} {version[0] if version else ''}".strip() if name else ""


def launcher(found):
    """(ReFrame's launcher, variables that this MPI library needs with it, how it was found). Slurm lists the plug-ins
    that it was built with, Cray's among them on machines without any Cray."""
    if found not in ("slurm", "squeue"):
        return "mpirun", [], "mpirun starts processes on the nodes that the scheduler gave"
    library = mpi_compiler()[1]
    if "Cray" in library:
        return "srun", [], "srun starts Cray MPICH"
    plug_in = next((plug_in for name, plug_in in PLUG_INS.items() if name in library), None)
    if plug_in in plug_ins():
        return "srun", [["SLURM_MPI_TYPE", plug_in]], f"srun --mpi=list has {plug_in}"
    return "mpirun", [], "srun --mpi=list has no plug-in for this MPI"


def plug_ins():
    """The names that `srun --mpi=list` prints, on standard error."""
    return (ask("bash", "-c", "srun --mpi=list 2>&1") or "").split()


def answer(function, *arguments):
    """What a function that looks at a file system returns, as far as JSON has it; None if that does not answer in time.
    Another process looks: one that waits in the kernel cannot be ended, so nobody waits for it or for its output."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            os.write(writing, json.dumps(function(*arguments)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answered:
        if not select.select([answered], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            return None
        os.waitpid(child, 0)
        said = answered.read()
    return json.loads(said) if said else None


def file_systems():
    """(those in which this user can write, parallel ones first, each mounted device once; a sentence on each one that
    does not answer)"""
    found, silent, devices = [], [], set()
    wanted = PARALLEL + NETWORK + LOCAL
    for line in os.fsdecode(Path("/proc/mounts").read_bytes()).split("\n")[:-1]:
        device, directory, kind = line.split(" ")[:3]
        directory = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), directory)
        if kind not in wanted or directory.startswith(NOT_FOR_FILES) or not directory.isprintable():
            continue
        place = answer(place_in, directory)
        if place is None:
            silent.append(f"the file system at {directory} does not answer and was left out")
        elif place and (device, kind) not in devices:
            devices.add((device, kind))
            found.append((place[0], kind, *place[1:]))
    found.sort(key=lambda entry: [entry[1] not in group for group in (PARALLEL, NETWORK)])
    return [FileSystem(name_of(entry[0], number), *entry) for number, entry in enumerate(found)], silent


def name_of(directory, number):
    """A short name for a file system: the first word of its path."""
    words = [part for part in Path(directory).parts if part != "/"]
    return re.sub(r"\W+", "_", words[0]) + (
        f"_{number}" if len(words) > 1 and words[0] in ("mnt", "media", "srv", "tmp") else ""
    )


def place_in(directory):
    """(place for files of this user, total and free bytes) below a mount point; empty if there is none."""
    root = directory.rstrip("/")
    for place in (f"{root}/{os.environ.get('USER', '')}", directory, f"{root}/tmp"):
        if os.access(place, os.W_OK | os.X_OK) and Path(place).is_dir() and Path(place) != Path("/"):
            with suppress(OSError), tempfile.TemporaryFile(dir=place):
                usage = shutil.disk_usage(place)
                return place.rstrip("/"), usage.total, usage.free
    return ()


def file_system_of(directory):
    """Type of the file system that holds a directory."""
    return ask("stat", "--file-system", "--format=%T", str(directory)) or "unknown"
