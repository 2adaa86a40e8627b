# SPDX-License-Identifier: Apache-2.0
"""Facts about a run that affect results and that nobody remembers later. The check records them, so that a change of a
result can be attributed to them."""

from itertools import pairwise

from coffeecup.postprocess.logs.activity import use_of_hosts
from coffeecup.postprocess.logs.file_systems import facts_of
from coffeecup.postprocess.logs.io_records import MpiIo
from coffeecup.postprocess.logs.placement import ASKED, asked_for
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, size


def facts(log: Log) -> dict[str, str | float]:
    """Name to value of everything around the run that stays the same from session to session unless somebody changes
    it, and numbers of what others did (history.numbers compares them).

    Values with a column of their own in a session (kernel version, MPI library, Spack hash, source revision) are not
    repeated.
    """
    run, mpi, build = log.run, log.run.mpi, log.run.build
    bound = sorted({mpi.binding_cores_min, mpi.binding_cores_max})
    stated = {
        "scheduler": asked_for(run).get("scheduler"),
        "placement": asked_for(run).get("placement"),
        "binding": f"{' to '.join(map(str, bound))} cores a process",
        "single copy": mpi.single_copy,
        "MPI-IO": next((record.component for record in log.all(MpiIo)), None),
        "compiler": build.compiler,
        "compiler flags": build.flags,
        **facts_of(log),
        "cores of a host that others used": max((use.others_cores for use in use_of_hosts(log)), default=None),
        **_topology([host.topology or "" for host in run.hosts]),
        "operating system": _each(host.system or "" for host in run.hosts),
        "cores of a host": _each(host.cores for host in run.hosts),
        "memory of a host": _each(size(host.memory_bytes) for host in run.hosts),
        **{f"environment {name}": value for name, value in run.environment.items() if name != ASKED},
    }
    return {name: value for name, value in stated.items() if value not in (None, "")}


def _topology(addresses: list[str]) -> dict[str, str]:
    """Over how many groups of the scheduler's topology the nodes are spread, and whether their order follows it. The
    addresses are those of Slurm: SWITCH.SWITCH.NODE in a tree, BLOCK.NODE, RING:POSITION.NODE, TORUS:X:Y:Z.NODE."""
    groups = [address.rpartition(".")[0].partition(":")[0] for address in addresses]
    if not all(groups):
        return {}
    changes = sum(before != after for before, after in pairwise(groups))
    number = len(set(groups))
    return {
        "topology": f"{counted(len(groups), 'node')} in {counted(number, 'group')}",
        "order of nodes": "group by group" if changes < number else "groups mixed",
    }


def _each(values) -> str:
    return ", ".join(map(str, sorted(set(values))))
