"""How a kernel is started: real MPI processes everywhere, and one benchmark at a time on the machine ReFrame runs on."""
import os
import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import PipelineError
from reframe.core.runtime import runtime

from . import sizes


class SizedRun(rfm.RegressionTestPlugin):
    """Runs `num_processes` processes on the partitions that offer this size, nodes filled one after the other."""

    @run_after("init")
    def set_valid_systems(self):
        self.valid_systems = sizes.partitions_for(runtime().system, self.num_processes, self.benchmark)

    @run_after("setup")
    def set_num_tasks(self):
        room = sizes.room(self.current_partition)
        self.num_tasks = self.num_processes
        per_node = room.cores_per_node if room.nodes > 1 else self.num_processes
        self.num_tasks_per_node = min(self.num_processes, per_node)


class MpiLaunch(rfm.RegressionTestPlugin):
    """Where the configuration knows no parallel launcher (ReFrame's built-in one does not), mpirun takes its place."""

    @run_after("setup")
    def launch_with_mpirun(self):
        if self.job.launcher.registered_name == "local":
            self.job.launcher = getlauncher("mpirun")()


class OneAtATime(rfm.RegressionTestPlugin):
    """Jobs on the machine ReFrame runs on queue up for it: ReFrame starts up to `max_jobs` of them together, and two
    benchmarks that share cores measure each other. The lock is per user and machine, so that other sessions wait too."""

    @run_before("run")
    def wait_for_the_machine(self):
        if not self.current_partition.scheduler.is_local:
            return
        lock = Path(tempfile.gettempdir()) / f"coffeecup-{os.getuid()}.lock"
        self.job.launcher.modifier = "flock"
        self.job.launcher.modifier_options = ["--close", str(lock)]
        if self.time_limit:
            self.time_limit *= self.current_partition.max_jobs
