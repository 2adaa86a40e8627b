# SPDX-License-Identifier: Apache-2.0
"""b_eff: the effective communication bandwidth, at every size from a node's worth of processes to the whole
partition."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_after, variable
from reframe.core.exceptions import SanityError

from postprocess import reframe_version  # noqa: F401

from . import devices, sizes
from .base import KernelCheck
from .build import kernel_build
from .partitions import extras_of, say
from .tested_directory import TestedDirectory
from .under_load import UnderLoad
from .vocabulary import STAGE, Extra

KERNEL_BUDGET_SECONDS = 240  # the kernel's default
OF_A_SWEEP = ["--patterns", "ring,random,ping_pong", "--random-patterns", "1", "--repetitions", "1"]
OF_A_SWEEP += ["--methods", "nonblocking,blocking"]
SWEEP = "sweep"  # the tag of checks that look for slow nodes
IO = "io"  # the load that requires a directory
FEWEST_NODES = 3  # two nodes have no peers to compare with
TOO_SMALL = {}  # why a test case of this session failed for its time budget, by its name, partition and environment


class b_eff_build(kernel_build):
    """The executable of b_eff."""

    benchmark = "b_eff"


@rfm.simple_test
class b_eff(KernelCheck):
    """b_eff and the detail under it.

    `-S b_eff.time_budget=SECONDS` and `-S b_eff.memory_per_process=SIZE` are passed to the kernel; with small ones the
    run is short and its result is marked as unofficial. `-S b_eff.sweep=yes` looks for slow nodes: one process on each
    node of the size, and of the patterns only as many as b_eff requires, so that most of the time is left for the
    matchings of nodes. `-S b_eff.memory=KIND,KIND` is its --memory, at the same sizes.
    """

    descr = "effective bandwidth of MPI communication"
    benchmark = variable(str, value="b_eff")
    time_budget = variable(type(None), int, value=None, loggable=True)
    memory_per_process = variable(str, value="", loggable=True)
    sweep = variable(bool, value=False, loggable=True)
    memory = variable(str, value="", loggable=True)
    kernel = fixture(b_eff_build, scope="environment")
    tags = {"communication"}

    @run_after("init")
    def set_options(self):
        self.executable_opts = ["--log", self.log_name]
        if self.time_budget is not None:
            self.executable_opts += ["--time-budget", str(self.time_budget)]
        if self.memory_per_process:
            self.executable_opts += ["--memory-per-process", self.memory_per_process]
        if self.sweep:
            self.executable_opts += OF_A_SWEEP
            self.processes_per_node = 1
            self.fewest_nodes = FEWEST_NODES
            self.tags |= {SWEEP}
        if self.memory:
            self.executable_opts += ["--memory", self.memory]

    def facts_of_the_partition(self):
        """With what its whole and the balance factor require."""
        extras = extras_of(self.current_partition)
        stated = {"partition_nodes": extras.get(Extra.NUM_NODES), "r_max_per_node": extras.get(Extra.R_MAX_PER_NODE)}
        return super().facts_of_the_partition() | {name: value for name, value in stated.items() if value}

    def expected_units(self):
        """And the balance factor, where R_max is known."""
        known = Extra.R_MAX_PER_NODE in extras_of(self.current_partition)
        return super().expected_units() | ({"balance_factor": "byte/flop", "r_max": "Gflop/s"} if known else {})

    def requested(self):
        """A sweep measures some of the patterns only."""
        return super().requested() | ({"processes_per_node": "", "sweep": "yes"} if self.sweep else {})

    @run_after("setup")
    def fail_again_if_the_budget_is_too_small(self):
        """Instead of a retry (--max-retries), which would need the same budget. Skipped, it would turn the session
        green."""
        if reason := TOO_SMALL.get(self._test_case()):
            raise SanityError(f"not run again: {reason}")

    def _test_case(self):
        return self.unique_name, self.current_partition.fullname, self.current_environ.name

    def _score(self):
        from postprocess.benchmarks.b_eff.loops import needed_budget_seconds
        from postprocess.benchmarks.scoring import read_or_error
        from postprocess.logs.reader import Log

        try:
            return super()._score()
        except SanityError as error:
            log = read_or_error(Path(self.stagedir, self.log_name))
            if isinstance(log, Log) and log.benchmark == "b_eff" and needed_budget_seconds(log):
                TOO_SMALL[self._test_case()] = str(error)
            raise

    @run_after("init")
    def set_time_limit(self):
        """Twice the budget and five minutes: the kernel ends by itself, the limit is for what hangs."""
        self.time_limit = self.time_limit or 2 * (self.time_budget or KERNEL_BUDGET_SECONDS) + 300


@rfm.simple_test
class b_eff_gpu(b_eff):
    """b_eff in memory of the host and of accelerators, with one process per device, on partitions with the feature
    `gpu`. The job requests all devices of its nodes. `-S b_eff_gpu.memory=KIND,KIND` measures in other kinds."""

    descr = "effective bandwidth of MPI communication in memory of accelerators"
    num_processes = parameter(sizes.sizes_here(per_device=True), type=sizes.Size, fmt=sizes.label)
    per_device = True

    @run_after("setup")
    def request_devices(self):
        self.num_gpus_per_node = sizes.room(self.current_partition, per_device=True).cores_per_node
        if not self.memory:
            self.memory = f"host,{devices.device_memory(self.current_partition)}"
            self.executable_opts += ["--memory", self.memory]


@rfm.simple_test
class b_eff_load(UnderLoad, TestedDirectory, b_eff):
    """What other users' traffic costs, on each file system that the partition names: the load `io` writes and reads
    there. Where it names none, `io` is left out unless `-S b_eff_load.load=` or `-S b_eff_load.directory=` requests
    it."""

    descr = "slowdown of MPI communication under load"
    fewest_nodes = 4  # two that are measured, and two that generate load

    @property
    def default_kinds(self):
        return [kind for kind in super().default_kinds if kind != IO or self.file_system != STAGE]

    @property
    def needs_directory(self):
        return IO in self.kinds

    @run_after("setup")
    def say_what_is_left_out(self):
        if not self.needs_directory and self.file_system == STAGE:
            say(
                f"b_eff_load: partition {self.current_partition.fullname!r} names no file system, so the load {IO} is "
                "not measured there; add the extra 'file_systems', or name one with -S b_eff_load.directory=DIR"
            )
