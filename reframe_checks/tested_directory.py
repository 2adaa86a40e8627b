# SPDX-License-Identifier: Apache-2.0
"""Where I/O checks put the files that they measure: each file system of a partition is tested on its own."""

import os
import re
from collections import defaultdict
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .partitions import compute_partitions, extras_of, refuse, say
from .paths import as_seen_from_the_job
from .vocabulary import GIVEN, STAGE, Extra

# The option of a job that starts after others have ended, however they ended.
AFTER = {
    **dict.fromkeys(("slurm", "squeue"), lambda jobs: f"--dependency=afterany:{':'.join(jobs)}"),
    **dict.fromkeys(("pbs", "pbspro", "torque"), lambda jobs: f"-W depend=afterany:{':'.join(jobs)}"),
    "lsf": lambda jobs: f'-w "{" && ".join(f"ended({job})" for job in jobs)}"',
}
submitted = defaultdict(list)  # file system to the jobs of this session that measure it


def file_systems_of(partition):
    """Name to the entry of the partition's extras; that of the stage directory has no directory."""
    return {entry["name"]: entry for entry in extras_of(partition).get(Extra.FILE_SYSTEMS, ())} or {STAGE: {}}


def file_systems_here():
    """The names that the configured system's partitions have for their file systems, and GIVEN."""
    named = {name for partition in compute_partitions() for name in file_systems_of(partition)}
    return [*sorted(named), GIVEN]


class TestedDirectory(rfm.RegressionTestPlugin):
    """Runs once for each file system that a partition's extras name, and passes `--directory` to the kernel. The job
    gets the directives that the file system needs.

    `-P <check>.file_system=NAME,NAME,...` measures those alone; `-S <check>.directory=DIR` that directory and nothing
    else. Where the extras name none it is the stage directory, which is kept apart from other runs and removed by
    ReFrame. References are by file system: `$index` is [$partition, file_system, num_processes].
    """

    file_system = parameter(file_systems_here(), type=str)
    directory = variable(str, value="", loggable=True)
    # What the run needs there, as far as that is known before it starts.
    least_bytes = variable(int, value=0, loggable=True)
    reference_index = ["$partition", "file_system", "num_processes"]
    needs_directory = True

    @run_after("init")
    def keep_partitions_with_this_file_system(self):
        """After the sizes, which choose the partitions."""
        if self.file_system not in (known := file_systems_here()):
            refuse(f"no partition has a file system {self.file_system!r}: known are {', '.join(known)}")
        if self.directory:
            here = set(self.valid_systems) if self.file_system == GIVEN else set()
        else:
            here = {
                partition.fullname
                for partition in compute_partitions()
                if self.file_system in file_systems_of(partition)
            }
        self.valid_systems = [name for name in self.valid_systems if name in here]

    @run_after("setup")
    def set_directory(self):
        if not self.needs_directory:
            return
        chosen = {} if self.directory else file_systems_of(self.current_partition)[self.file_system]
        self.directory = as_seen_from_the_job(self.directory) or chosen.get("directory", self.stagedir)
        self.job.options = [*self.job.options, *chosen.get("options", ())]
        quote = '"' if re.search(r"\s", str(self.directory)) else ""  # by which its variables are expanded
        self.executable_opts += ["--directory", f"{quote}{self.directory}{quote}"]

    @run_before("run")
    def start_after_other_jobs_on_this_file_system(self):
        """Two of them at the same time would measure each other. On the local machine jobs wait for each other."""
        scheduler = self.current_partition.scheduler
        if scheduler.is_local or not self.needs_directory:
            return
        places = [self.file_system, *device_of(self.directory)]
        before = {job.jobid for place in places for job in submitted[place] if not scheduler.finished(job)} - {None}
        after = AFTER.get(scheduler.registered_name)
        if before and after:
            self.job.options = [*self.job.options, after(sorted(before))]
        elif before:
            say(
                f"I/O checks on one file system may overlap: the job dependencies of {scheduler.registered_name} are "
                "unknown; use --exec-policy=serial"
            )
        for place in places:
            submitted[place].append(self.job)


def device_of(directory):
    """The device of a directory that is visible on this machine, in a list that is empty otherwise: file systems with
    different names may be the same one."""
    try:
        return [Path(os.path.expandvars(directory)).stat().st_dev]
    except OSError:
        return []
