# SPDX-License-Identifier: Apache-2.0
"""b_eff_io: the effective bandwidth of parallel I/O, at every size from a node's worth of processes to the whole
partition."""

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .base import KernelCheck
from .build import kernel_build
from .io_options import IoOptions, hints_of_the_job
from .partitions import refuse
from .tested_directory import TestedDirectory

OFFICIAL, TOP_CLUSTERS, QUICK = "official", "top_clusters", "quick"
SECONDS = {OFFICIAL: 900, TOP_CLUSTERS: 1800, QUICK: 60}  # what the kernel schedules for all partitions
PARTITIONS = {OFFICIAL: 1, TOP_CLUSTERS: 3, QUICK: 1}
OPTIONS = {
    OFFICIAL: ["--partitions", "all"],
    TOP_CLUSTERS: ["--top-clusters"],
    QUICK: ["--partitions", "all", "--quick"],
}


class b_eff_io_build(kernel_build):
    """The executable of b_eff_io."""

    benchmark = "b_eff_io"


@rfm.simple_test
class b_eff_io(IoOptions, TestedDirectory, KernelCheck):
    """b_eff_io of one partition, all processes of the job, and the detail under it.

    `-S b_eff_io.form=top_clusters` measures three partitions in 30 minutes, `-S b_eff_io.form=quick` takes one minute
    instead of 15, and its result is marked as not valid for comparison; both have references of their own. `-S
    b_eff_io.scheduled_time=SECONDS`, `-S b_eff_io.memory_per_process=SIZE`, `-S b_eff_io.hints=NAME=VALUE,...|FILE` and
    `-S b_eff_io.individual_pointers=yes` are passed to the kernel, which refuses to start if there is not enough space.
    """

    descr = "effective bandwidth of parallel I/O"
    benchmark = variable(str, value="b_eff_io")
    form = variable(str, value=OFFICIAL, loggable=True)
    scheduled_time = variable(type(None), float, value=None, loggable=True)
    memory_per_process = variable(str, value="", loggable=True)
    hints = variable(str, value="", loggable=True)
    individual_pointers = variable(typ.Bool, value=False, loggable=True)
    kernel = fixture(b_eff_io_build, scope="environment")
    tags = {"io"}

    @run_after("init")
    def refuse_unknown_form(self):
        if self.form not in SECONDS:
            refuse(f"b_eff_io.form: unknown form {self.form!r}: valid are {', '.join(SECONDS)}")

    @run_after("setup")
    def set_options(self):
        """After the number of processes, before the options that were added until now."""
        self.hints = hints_of_the_job(self.hints)
        options = self.options_of("scheduled_time", "memory_per_process", "hints", "individual_pointers")
        self.executable_opts = ["--log", self.log_name, *OPTIONS[self.form], *options, *self.executable_opts]

    @run_after("init")
    def set_time_limit(self):
        """Three times what is scheduled and ten minutes: the kernel ends runs that hang first, the limit is for what
        it does not notice."""
        scheduled = self.scheduled_time and self.scheduled_time * PARTITIONS[self.form]
        self.time_limit = self.time_limit or 3 * int(scheduled or SECONDS[self.form]) + 600

    def requested(self) -> dict[str, object]:
        return {"form": self.form if self.form != OFFICIAL else ""} | super().requested()
