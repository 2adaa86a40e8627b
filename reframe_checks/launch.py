# SPDX-License-Identifier: Apache-2.0
"""How a kernel is started: real MPI processes everywhere, and one benchmark at a time on the machine ReFrame runs
on."""

import os
import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import PipelineError
from reframe.core.runtime import runtime

from . import sizes
from .vocabulary import Extra


class SizedRun(rfm.RegressionTestPlugin):
    """Runs `num_processes` processes on the partitions that offer this size, nodes filled one after the other. Tags
    tell which size it is, for modes to choose by: one_node, two_nodes, four_nodes, smallest and largest."""

    @run_after("init")
    def set_valid_systems(self):
        self.valid_systems = sizes.partitions_for(runtime().system, self.num_processes, self.benchmark)
        self.tags |= sizes.tags_of(runtime().system, self.num_processes, self.benchmark)

    @run_after("setup")
    def set_num_tasks(self):
        room = sizes.room(self.current_partition)
        self.num_tasks = self.num_processes
        per_node = room.cores_per_node if room.nodes > 1 else self.num_processes
        self.num_tasks_per_node = min(self.num_processes, per_node)

    @run_before("compile")
    def skip_what_the_partition_ends_early(self):
        """After setup, where checks set their time limit."""
        longest = self.current_partition.extras.get(Extra.MAX_MINUTES)
        seconds = self.time_limit or 0
        self.skip_if(
            longest and seconds > 60 * longest,
            f"{self.current_partition.fullname} accepts jobs of up to {longest} minutes, but this one may need "
            f"{-(-seconds // 60):g}",
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
    <check>.placement=block,round_robin` compares the two; without it the site's launcher decides, and the result is
    compared with references."""

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
        self.env_vars["COFFEECUP_ASKED"] = ",".join(f"{name}={value}" for name, value in asked.items())

    @run_before("run")
    def add_options_of_the_launcher(self):
        options = [*self.current_partition.extras.get(Extra.LAUNCHER_OPTIONS, ()), *self._options_of_placement()]
        self.job.launcher.options += [option.format(num_tasks_per_node=self.num_tasks_per_node) for option in options]

    def _options_of_placement(self):
        if not self.placement:
            return []
        if self.placement not in Placement.ALL:
            raise PipelineError(f"unknown placement {self.placement!r}: valid are {', '.join(Placement.ALL)}")
        launcher = self.job.launcher.registered_name
        known = PLACEMENTS.get(launcher, {}) | self.current_partition.extras.get(Extra.PLACEMENTS, {})
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
        self.job.launcher.modifier_options = ["--close", str(lock)]
        if self.time_limit:
            self.time_limit *= self.current_partition.max_jobs
