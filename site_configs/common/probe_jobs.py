# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site check --submit`: one small MPI job per partition, environment and file system. It is a check in the
form of a probe, so it is built, submitted and started like every check; its log states what the compute nodes are
like."""

import re
import tempfile
from pathlib import Path

from coffeecup.postprocess.benchmarks.benchmark import Form
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.reframe_checks.spack import other_library

from . import dry_run, machine
from .frame import in_form
from .machine_check import compiler_of

START_UP = re.compile(r"MPI_Init|PMI|belongs to \S+ on 1$|process management", re.MULTILINE)


def findings(site):
    """(level, place, what, remedy) on each job."""
    names = [name for name, benchmark in benchmarks().items() if Form.PROBE in benchmark.forms]
    probes = f"^({'|'.join(names)})(%|$)"
    options = [word for option in in_form(Form.PROBE) for word in option.split()]
    for system in site.systems:
        name = system["name"]
        with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
            _, output, cases = dry_run.dry_run(site, name, Path(folder), "-n", probes, *options)
        wanted = {partition["name"] for partition in system["partitions"]}  # those without a problem so far
        if not wanted:
            continue
        chosen = smallest([case for case in cases if case["result"] != "skip" and case["partition"] in wanted])
        if not chosen:
            yield "refused", f"jobs on {name}", f"{', '.join(names)} has no case", dry_run.complaint(output)
            continue
        folder = Path(system.get("prefix", "."), "site-check").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        selection = [option for case in chosen.values() for option in ("-n", f"/{case['hashcode']}")]
        _, output, cases = dry_run.reframe(site, name, folder, "--run", *selection, *options)
        ran = {key(case): case for case in cases if case["hashcode"] == chosen.get(key(case), {}).get("hashcode")}
        for job, case in chosen.items():
            [partition] = [part for part in system["partitions"] if part["name"] == case["partition"]]
            mpicc = machine.path_of(*compiler_of(site, partition, case["environ"]))
            yield from of_job(name, ran.get(job, case), job in ran, output, folder, mpicc)


def key(case):
    return case["partition"], case["environ"], case["file_system"]


def smallest(cases):
    """The case to run for each partition, environment and file system: two nodes where there are two, few processes."""
    chosen = {}
    for case in sorted(cases, key=lambda case: (nodes_of(case) != 2, case["num_processes"])):
        chosen.setdefault(key(case), case)
    return chosen


def nodes_of(case):
    return -(-case["num_tasks"] // case["num_tasks_per_node"])


def of_job(system, case, ran, output, folder, mpicc):
    """What one job proves, or why it failed."""
    partition, environment, file_system = key(case)
    place = f"job on {system}:{partition}, environment {environment}, file system {file_system}"
    if not ran:
        yield "refused", place, f"was not started: {dry_run.complaint(output)}", f"see {folder}"
        return
    if other_library(case["mpi_bin"], mpicc):
        yield (
            "refused",
            place,
            f"Spack built the kernel with the MPI library in {case['mpi_bin']}, but the environment has {mpicc}",
            "in the site's Spack environment, list the latter's library as an external with its prefix and modules, "
            "and require it: `packages: mpi: require: [NAME]`",
        )
        return
    if case["result"] != "pass":
        reason = " ".join((case["fail_reason"] or f"its kernel was not built: {dry_run.complaint(output)}").split())
        remedy = f"see {case['outputdir'] or case['stagedir'] or folder}"
        if START_UP.search(str(case["fail_reason"])):
            remedy = (
                "the launcher does not start this MPI library: compare `srun --mpi=list` with SLURM_MPI_TYPE, and the "
                f"launcher with the environment's modules; {remedy}"
            )
        yield "refused", place, reason[:400], remedy
        return
    try:
        run = read_log(Path(case["outputdir"], f"{case['name'].split(' ')[0]}.jsonl")).run
    except LogError as error:
        yield "refused", place, str(error), "see ReFrame's log"
        return
    yield from of_log(place, case, run)


def of_log(place, case, run):
    """The facts in a log, and those that contradict the request or the build."""
    hosts, nodes = run.hosts, nodes_of(case)
    library, compiled = run.mpi.library, run.build.mpi_library
    if len(hosts) != nodes:
        yield (
            "refused",
            place,
            f"{case['num_tasks']} processes ran on {len(hosts)} nodes instead of {nodes}",
            "check the launcher and its options",
        )
    elif compiled and same_library(compiled, library) is False:
        yield (
            "refused",
            place,
            f"the kernel was compiled with {compiled}, but runs with {library}",
            "name the same modules for building and running in the environment's `modules`",
        )
    else:
        cores = sorted({run.mpi.binding_cores_min, run.mpi.binding_cores_max})
        disk = run.filesystem
        yield (
            "ok",
            place,
            f"job {case['jobid']} on {', '.join(host.name for host in hosts)}: {run.ranks} processes, each may run on "
            f"{' to '.join(map(str, cores))} of {hosts[0].online_cores} cores; {library.split(',')[0]}"
            f"{', as compiled' if compiled and same_library(compiled, library) else ''}, built with {case['builder']}; "
            f"{disk.directory}: {disk.type}, {disk.free_bytes / 1e9:.3g} GByte free",
        )


def same_library(compiled, running):
    """Whether the library of a header is the one that runs; None for a library that states no such version, as those
    that are based on MPICH."""
    for name, stated in (("Open MPI", r"Open MPI v([\w.]+)"), ("MPICH", r"MPICH Version:\s*([\w.]+)")):
        if found := re.match(stated, running):
            return compiled == f"{name} {found[1]}"
    return None
