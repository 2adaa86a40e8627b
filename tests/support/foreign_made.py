# SPDX-License-Identifier: Apache-2.0
"""Configurations that other people wrote, and what the schedulers of their machines answer."""

import json
import re
from types import SimpleNamespace

import pytest
from builds import executable
from check_runs import configuration

SCHEDULERS = ("scontrol", "sinfo", "squeue", "qstat", "pbsnodes", "bhosts")
# What another check depends on is listed below it.
CASE = re.compile(
    r"^(?:- | +\^)(\w+)(?: %file_system=(\w+))? %num_processes=(\w+) /\w+ @\w+:(\w+)\+(\S+)$", re.MULTILINE
)

LOGIN = {"name": "login", "scheduler": "local", "launcher": "local", "environs": ["builtin", "gnu"]}
ENVIRONMENTS = [
    {"name": "gnu", "cc": "gcc"},  # no MPI
    {"name": "gnu-mpi", "cc": "mpicc"},
    {"name": "vendor", "cc": "no-such-compiler", "features": ["mpi", "openmp"]},
    {"name": "other", "cc": "no-such-compiler", "features": ["mpi"]},
]


def partition(name, scheduler, launcher, environs=("builtin", "gnu", "gnu-mpi"), **more):
    return {"name": name, "scheduler": scheduler, "launcher": launcher, "environs": list(environs), **more}


PBS = partition("batch", "pbspro", "mpiexec", access=["-q workq", "-A project"], max_jobs=100)
LSF = partition("batch", "lsf", "lrun", access=["-q normal"], features=["cpu", "remote"])
SLURM = partition("batch", "slurm", "srun", access=["-p cpu"], features=["cpu", "remote"], max_jobs=100)
CPUS = {"num_cpus": 16, "num_cpus_per_core": 2}
KNOWN = partition("mc", "squeue", "srun", ["builtin", "vendor"], processor=CPUS, features=["mc"])


def of_cores(name="p", cores=8, nodes=2, environs=("gnu-mpi",), **extras):
    """A partition that states its cores and nodes."""
    return partition(name, "squeue", "srun", environs, extras={"cores_per_node": cores, "num_nodes": nodes} | extras)


# qstat -Qf -F json and pbsnodes -a -F json as the reference guide of PBS Professional 2022.1 shows them
OPEN = {"enabled": "True", "started": "True"}
QUEUES = {
    "Queue": {
        "workq": OPEN | {"queue_type": "Execution", "resources_max": {"walltime": "24:00:00"}},
        "route": OPEN | {"queue_type": "Route"},
        "stopped": OPEN | {"queue_type": "Execution", "started": "False"},
    }
}
NODES = {"nodes": {f"x{n}": {"resources_available": {"ncpus": 128, "mem": "263828272kb"}} for n in range(3)}}
OF_PBS = (("qstat", json.dumps(QUEUES)), ("pbsnodes", json.dumps(NODES)))  # 3 nodes of 128


def script_of(answer):
    """Of a command that prints a text, or one for each first option; it fails without one."""
    texts = answer if isinstance(answer, dict) else {"*": answer} if answer else {}
    cases = [f"{option}) cat <<'EOF'\n{text}\nEOF\n;;" for option, text in texts.items()]
    return "\n".join(["case $1 in", *cases, *(() if "*" in texts else ("*) exit 1;;",)), "esac"])


@pytest.fixture
def centre(tmp_path, reframe):
    """Writes a configuration of these partitions. The schedulers of the machine at hand do not answer, but for what
    `answers` gives: command to text, or to a text for each first option."""

    def write(partitions, answers=()):
        for command in SCHEDULERS:
            executable(tmp_path / "stubs" / command, script_of(dict(answers).get(command)))
        file = configuration(tmp_path, *partitions, environments=ENVIRONMENTS, of="centre")
        return file, {"PATH": f"{tmp_path}/stubs:{reframe.environment()['PATH']}"}

    return write


@pytest.fixture
def foreign(centre, reframe):
    """Runs ReFrame with the configuration `centre`, and the checks of the test's file or others."""

    def run(partitions, *options, answers=(), listing=True, checks=None):
        file, path = centre(partitions, answers)
        session = reframe(*(["-LC"] if listing else []), *options, config=file, env=path, checks=checks)
        cases = {
            (check, where, environment, int(size) if size.isdigit() else size)
            for check, _, size, where, environment in CASE.findall(session.output)
        }
        of_b_eff = sorted(case[1:] for case in cases if case[0] == "b_eff")
        return SimpleNamespace(session=session, cases=cases, b_eff=of_b_eff)

    return run
