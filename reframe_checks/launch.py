# SPDX-License-Identifier: Apache-2.0
"""How a kernel is started: real MPI processes everywhere, and one benchmark at a time on the machine ReFrame runs
on."""

import os
import shlex
import sys
import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, variable
from reframe.core.exceptions import PipelineError

from coffeecup.postprocess import reframe_version  # noqa: F401

from . import batch, sizes
from .environments import mpi_environments
from .partitions import extras_of, refuse, say
from .vocabulary import Extra

WHOLE_NODES = "whole_nodes"  # the resource of a partition whose options complete a job, in ReFrame's `resources`
# What ReFrame requests of a scheduler too little of, and the options of a usual site. docs/schedulers.md has the table.
INCOMPLETE = {
    "sge": ("no processes and no nodes of its own", ["-pe NAME {num_tasks}", "-l exclusive=true"]),
    "lsf": ("no processes", ["-n {num_tasks}", '-R "span[ptile={num_tasks_per_node}]"']),
    "torque": ("no nodes of its own", ["-n"]),
    "oar": ("no nodes of its own", ["-t TYPE"]),
}
LAUNCHERS_BY_NODES = ("lrun", "lrun-gpu")  # of an LSF in which the number of nodes is enough

NONCE = "COFFEECUP_ACCEPTANCE"  # as `coffeecup accept begin` prints it, and the kernels read it


class SizedRun(rfm.RegressionTestPlugin):
    """Runs `num_processes` processes on the partition that offers this size, nodes filled one after the other. Tags
    state which size it is there, for modes to choose by: one_node, two_nodes, four_nodes, smallest and largest.

    `-P <check>.num_processes=N,N,...` runs these sizes instead, on every partition on which they fit; `-S num_nodes=N`
    so many full nodes. With `-S <check>.processes_per_node=N`, or `-P <check>.processes_per_node=N,N,...`, the nodes of
    the size get that many processes each instead of one for each core.
    """

    num_processes = parameter(sizes.sizes_here(), type=sizes.Size, fmt=sizes.label)
    num_nodes = variable(type(None), int, value=None)
    processes_per_node = variable(type(None), int, value=None)
    fewest_nodes = 1
    least_seconds = 0  # below its time limit: what a partition has to grant so that the check is not skipped
    per_device = False  # one process per accelerator, on partitions that have any

    @run_after("init")
    def set_valid_systems(self):
        self._refuse_sizes_that_select_nothing()
        partitions = sizes.partitions_for(self.num_processes, self.benchmark, self.num_nodes, self.per_device)
        self._refuse_unknown_sizes(partitions)
        for partition in partitions:
            refuse_incomplete_jobs(partition)
        if self.num_nodes or not self.num_processes.partition:
            partitions = self._with_room(partitions)
        self.valid_systems = [partition.fullname for partition in partitions]
        if self.valid_prog_environs == ["*"]:
            self.valid_prog_environs = [name for partition in partitions for name in mpi_environments(partition)]
        for partition in partitions:
            self.tags |= sizes.tags_of(partition, self.num_processes, self.per_device)

    def _refuse_sizes_that_select_nothing(self):
        """ReFrame would leave out the check, or all of its sizes would run, without a message."""
        if self.num_nodes is not None and self.num_nodes < 1:
            refuse(f"num_nodes: {self.num_nodes} is not a number of nodes")
        if self.num_processes.partition:
            return
        if self.num_nodes:
            refuse(f"{self.benchmark}: num_nodes and num_processes exclude each other: choose one")
        if not self.num_processes:
            refuse("num_processes: 0 is not a number of processes")

    def _refuse_unknown_sizes(self, partitions):
        """Before anything is listed. In a run, such a partition costs its own tests only. With `-P
        <check>.num_processes=`, other checks, which are listed as well, may have no size. An unknown number of
        accelerators fails the checks that need it, and no others."""
        of_others = not (self.num_processes or self.num_nodes) and any("num_processes=" in word for word in sys.argv)
        runs = {"-r", "--run", "--dry-run"} & {*sys.argv} and any(
            not sizes.unknown(partition) for partition in sizes.partitions_of(self.benchmark)
        )
        for partition in () if of_others else partitions:
            if not sizes.room(partition, self.per_device).processes(self.num_processes, self.num_nodes):
                (say if self.per_device or runs else refuse)(sizes.unknown(partition, self.per_device))

    def _with_room(self, partitions):
        """Those on which a size of the command line fits. Ends the session if it fits nowhere."""
        misfits = {
            partition: sizes.misfit(partition, self.num_processes, self.num_nodes, self.per_device)
            for partition in sizes.partitions_of(self.benchmark, self.per_device)
        }
        if misfits and all(misfits.values()):
            refuse(f"{self.benchmark} runs nowhere: {'; '.join(misfits.values())}")
        for partition in partitions:
            if misfits[partition]:
                say(f"skipped: {misfits[partition]}")
        return [partition for partition in partitions if not misfits[partition]]

    @run_after("setup")
    def set_num_tasks(self):
        room = sizes.room(self.current_partition, self.per_device)
        processes = room.processes(self.num_processes, self.num_nodes)
        if not processes:
            raise PipelineError(sizes.unknown(self.current_partition, self.per_device))
        if misfit := room.misfit(processes):
            raise PipelineError(f"partition {self.current_partition.fullname!r}: {misfit}")
        if self.processes_per_node is not None and self.processes_per_node < 1:  # ReFrame would skip or ignore it
            raise PipelineError(f"processes_per_node: {self.processes_per_node} is not a number of processes")
        nodes = room.nodes_for(processes)
        self.skip_if(nodes < self.fewest_nodes, f"requires at least {self.fewest_nodes} nodes, this size has {nodes}")
        self.num_tasks_per_node = self.processes_per_node or processes // nodes
        self.num_processes = self.num_tasks = nodes * self.num_tasks_per_node

    @run_before("compile")
    def skip_what_the_partition_ends_early(self):
        """After setup, where checks set their time limit, and what suffices on fast storage."""
        longest = extras_of(self.current_partition).get(Extra.MAX_MINUTES)
        seconds = self.time_limit or 0
        if longest and self.least_seconds and self.least_seconds <= 60 * longest < seconds:
            seconds = self.time_limit = 60 * longest
        self.skip_if(
            longest and seconds > 60 * longest,
            f"{self.current_partition.fullname} accepts jobs of up to {longest} minutes, but this one may need "
            f"{-(-seconds // 60):g}",
        )


def refuse_incomplete_jobs(partition):
    """Ends the session if jobs on the partition would get less than they use."""
    scheduler, launcher = partition.scheduler.registered_name, partition.launcher_type.registered_name
    if scheduler == "flux":  # whose jobs ReFrame makes from neither `access` nor `resources`
        refuse(
            f"partition {partition.fullname!r}: ReFrame's jobs for flux request a single core, whatever a check needs, "
            "and no configuration changes that; the extra 'kernels': [] leaves the partition out"
        )
    if scheduler not in INCOMPLETE or WHOLE_NODES in dict(partition.resources):
        return
    if scheduler == "lsf" and launcher in LAUNCHERS_BY_NODES:
        return
    missing, options = INCOMPLETE[scheduler]
    refuse(
        f"partition {partition.fullname!r}: ReFrame's jobs for {scheduler} request {missing}; add what your site "
        f"needs to `resources` of the partition, for example {{'name': '{WHOLE_NODES}', 'options': {options}}}, or an "
        "empty list of options if it needs nothing"
    )


class Placement:
    """How processes are spread over nodes: a node is filled before the next one begins, or each gets one in turn."""

    BLOCK = "block"
    ROUND_ROBIN = "round_robin"
    ALL = (BLOCK, ROUND_ROBIN)


# Of launchers whose options are known; those of mpirun and mpiexec are Open MPI's. A site's extra `placements` comes
# first.
PLACEMENTS = {
    "srun": {Placement.BLOCK: ["--distribution=block"], Placement.ROUND_ROBIN: ["--distribution=cyclic"]},
    "mpirun": {Placement.BLOCK: ["--map-by slot"], Placement.ROUND_ROBIN: ["--map-by node"]},
    "mpiexec": {Placement.BLOCK: ["--map-by slot"], Placement.ROUND_ROBIN: ["--map-by node"]},
}


class MpiLaunch(rfm.RegressionTestPlugin):
    """Starts the processes as the site says. Where the configuration knows no parallel launcher (ReFrame's built-in one
    does not), mpirun takes its place. `-S <check>.placement=block|round_robin` requests a placement, `-P
    <check>.placement=block,round_robin` compares the two; without it the site's launcher decides. Each placement
    has references of its own."""

    placement = variable(str, value="", loggable=True)

    @run_after("setup")
    def launch_with_mpirun(self):
        if self.job.launcher.registered_name == "local":
            self.job.launcher = getlauncher("mpirun")()

    @run_before("run")
    def tell_the_kernel_what_was_asked_for(self):
        """Recorded in the log; `postprocess` compares it with the actual placement. Local runs allocate no nodes."""
        exclusive = self.exclusive_access and not self.current_partition.scheduler.is_local
        asked = {"processes_per_node": self.num_tasks_per_node, "exclusive": "yes" if exclusive else "no"}
        if self.placement:
            asked["placement"] = self.placement
        asked |= self.facts_of_the_partition()
        if version := batch.version(self.current_partition.scheduler.registered_name):
            asked["scheduler"] = version
        self.env_vars["COFFEECUP_ASKED"] = ",".join(f"{name}={value}" for name, value in asked.items())

    def facts_of_the_partition(self):
        """What the log is to state about the partition, name to value."""
        return {"partition": self.current_partition.fullname}

    @run_before("run")
    def request_whole_nodes(self):
        """By the partition's own options; most partitions need none."""
        numbers = {"num_tasks": self.num_tasks, "num_tasks_per_node": self.num_tasks_per_node}
        numbers["num_nodes"] = self.num_tasks // self.num_tasks_per_node
        self.extra_resources = {**self.extra_resources, WHOLE_NODES: numbers}

    @run_before("run")
    def pass_the_nonce_of_an_acceptance(self):
        """Recorded in the log and in the session; `coffeecup accept` compares it with those that it issued."""
        if nonce := os.environ.get(NONCE):
            self.env_vars[NONCE] = nonce

    @run_before("run")
    def add_options_of_the_launcher(self):
        options = [*extras_of(self.current_partition).get(Extra.LAUNCHER_OPTIONS, ()), *self._options_of_placement()]
        self.job.launcher.options += [option.format(num_tasks_per_node=self.num_tasks_per_node) for option in options]

    def _options_of_placement(self):
        if not self.placement:
            return []
        if self.placement not in Placement.ALL:
            raise PipelineError(f"unknown placement {self.placement!r}: valid are {', '.join(Placement.ALL)}")
        launcher = self.job.launcher.registered_name
        known = PLACEMENTS.get(launcher, {}) | extras_of(self.current_partition).get(Extra.PLACEMENTS, {})
        if self.placement not in known:
            raise PipelineError(
                f"the options of {launcher} for placement {self.placement} are unknown: add the extra "
                f"'{Extra.PLACEMENTS}' to partition {self.current_partition.fullname}"
            )
        return known[self.placement]


class OneAtATime(rfm.RegressionTestPlugin):
    """Serialises jobs on the machine that runs ReFrame: ReFrame starts up to `max_jobs` of them together, and two
    benchmarks that share cores disturb each other. The lock is per user and machine, so other sessions wait as well."""

    @run_before("run")
    def wait_for_the_machine(self):
        if not self.current_partition.scheduler.is_local:
            return
        lock = Path(tempfile.gettempdir()) / f"coffeecup-{os.getuid()}.lock"
        self.job.launcher.modifier = "flock"
        self.job.launcher.modifier_options = ["--close", shlex.quote(str(lock))]
        if self.time_limit:
            self.time_limit *= self.current_partition.max_jobs
