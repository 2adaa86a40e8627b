# SPDX-License-Identifier: Apache-2.0
"""b_eff_io: the effective bandwidth of parallel I/O, at every size from a node's worth of processes to the whole
partition."""

import reframe as rfm
import reframe.utility.typecheck as typ
import reframe.utility.udeps as udeps
from reframe.core.builtins import (
    fixture,
    parameter,
    performance_function,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import SanityError

from postprocess import reframe_version  # noqa: F401

from . import sizes
from .base import KernelCheck
from .build import kernel_build
from .environments import mpi_environments
from .io_options import IoOptions
from .partitions import refuse
from .references import ExternalReferences
from .tested_directory import TestedDirectory, file_systems_here, file_systems_of
from .under_load import UnderLoad
from .vocabulary import GIVEN

OFFICIAL, TOP_CLUSTERS, QUICK = "official", "top_clusters", "quick"
SECONDS = {OFFICIAL: 900, TOP_CLUSTERS: 1800, QUICK: 60}  # what the kernel schedules for all partitions
PARTITIONS = {OFFICIAL: 1, TOP_CLUSTERS: 3, QUICK: 1}
OPTIONS = {
    OFFICIAL: ["--partitions", "all"],
    TOP_CLUSTERS: ["--top-clusters"],
    QUICK: ["--partitions", "all", "--quick"],
}
LOAD_SECONDS = 240  # for a run under load


class b_eff_io_build(kernel_build):
    """The executable of b_eff_io."""

    benchmark = "b_eff_io"


@rfm.simple_test
class b_eff_io(IoOptions, TestedDirectory, KernelCheck):
    """b_eff_io of one partition, all processes of the job, and the detail under it.

    `-S b_eff_io.form=top_clusters` measures three partitions in 30 minutes and has references of its own.
    `-S b_eff_io.form=quick` takes one minute instead of 15; the result is marked as not valid for comparison and is not
    compared with references. `-S b_eff_io.scheduled_time=SECONDS`, `-S b_eff_io.memory_per_process=SIZE`,
    `-S b_eff_io.hints=FILE` and `-S b_eff_io.individual_pointers=yes` are passed to the kernel, which refuses to start
    if there is not enough space.
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
        options = ["--log", self.log_name, *OPTIONS[self.form]]
        if self.scheduled_time is not None:
            options += ["--scheduled-time", str(self.scheduled_time)]
        if self.memory_per_process:
            options += ["--memory-per-process", self.memory_per_process]
        if self.hints:
            options += ["--hints", self.hints]
        if self.individual_pointers:
            options += ["--individual-pointers"]
        self.executable_opts = [*options, *self.executable_opts]

    @run_after("init")
    def set_time_limit(self):
        """Three times what is scheduled and ten minutes: the kernel's own watchdog comes first, the limit is for what
        hangs."""
        scheduled = self.scheduled_time and self.scheduled_time * PARTITIONS[self.form]
        self.time_limit = self.time_limit or 3 * int(scheduled or SECONDS[self.form]) + 600

    def requested(self) -> dict[str, object]:
        return {"form": self.form if self.form == TOP_CLUSTERS else ""} | super().requested()

    @run_before("compile")
    def compare_no_quick_run(self):
        """It measures caches."""
        if self.form == QUICK:
            self.compare_with_nothing()


@rfm.simple_test
class b_eff_io_system(ExternalReferences, rfm.RunOnlyRegressionTest):
    """The b_eff_io of a system: the largest of the session's values on a file system, by section 5.1 of the paper
    of official runs only. It runs nothing itself: it depends on b_eff_io at every size of the partition, fails where
    one of them has no official value, and is left out where b_eff_io takes another form. References are by file system
    and the largest number of processes: `$index` is [$partition, file_system, num_tasks]."""

    descr = "largest effective bandwidth of parallel I/O at any size"
    file_system = parameter(file_systems_here(), type=str)
    num_nodes = variable(type(None), int, value=None)
    best = variable(str, value="", loggable=True)  # where the largest value was measured
    valid_prog_environs = ["*"]
    sourcesdir = None
    local = True
    executable = "true"
    reference_index = ["$partition", "file_system", "num_tasks"]
    tags = {"io"}

    @run_after("init")
    def depend_on_every_size(self):
        """On the partitions where b_eff_io measures this file system."""
        given = bool(b_eff_io.directory)
        self._sizes, environs = {}, set()
        for number in b_eff_io.get_variant_nums(file_system=lambda name: name == self.file_system):
            size = b_eff_io.get_variant_info(number)["params"]["num_processes"]
            for partition in sizes.partitions_for(size, b_eff_io.benchmark, self.num_nodes):
                if self.file_system in ({GIVEN} if given else file_systems_of(partition)):
                    self._sizes.setdefault(partition.fullname, {})[b_eff_io.variant_name(number)] = size
                    environs |= set(mpi_environments(partition))
        self.valid_systems = list(self._sizes) if b_eff_io.form == OFFICIAL else []
        self.valid_prog_environs = sorted(environs)
        names = [name for found in self._sizes.values() for name in found] if self.valid_systems else []
        for name in dict.fromkeys(names):
            self.depends_on(name, how=udeps.by_case)

    @run_after("setup")
    def set_size(self):
        self._measured = [self.getdep(name) for name in self._sizes[self.current_partition.fullname]]
        self.num_tasks = max(check.num_tasks for check in self._measured)

    @sanity_function
    def every_size_has_an_official_value(self):
        unofficial = [f"{check.display_name}: {check.breaches}" for check in self._measured if not check.official]
        if unofficial:
            raise SanityError(
                f"no value of the system without those of all sizes; not official: {'; '.join(unofficial)}"
            )
        return True

    @performance_function("MByte/s")
    def b_eff_io_system(self):
        largest = max(self._measured, key=lambda check: check.value_of("b_eff_io"))
        self.best = f"{largest.num_tasks} processes, {largest.num_tasks_per_node} on each node"
        return largest.value_of("b_eff_io")


@rfm.simple_test
class b_eff_io_load(UnderLoad, b_eff_io):
    """What the I/O of other users costs: some of b_eff_io's patterns on half of the nodes, while the other half reads
    or writes files of its own in the same file system. `-S b_eff_io_load.scheduled_time=SECONDS` is the time of the
    run, 240 by default; of the other options of b_eff_io, `hints` belongs to it."""

    descr = "slowdown of parallel I/O under load"
    fewest_nodes = 2  # one that is measured, and one that generates load

    @run_after("setup")
    def set_options(self):
        options = ["--log", self.log_name]
        if self.scheduled_time is not None:
            options += ["--scheduled-time", str(self.scheduled_time)]
        if self.hints:
            options += ["--hints", self.hints]
        self.executable_opts = [*options, *self.executable_opts]

    @run_after("init")
    def set_time_limit(self):
        self.time_limit = self.time_limit or 3 * int(self.scheduled_time or LOAD_SECONDS) + 600
