# SPDX-License-Identifier: Apache-2.0
"""b_eff: the effective communication bandwidth, at every size from a node's worth of processes to the whole
partition."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_after, run_before, variable
from reframe.core.exceptions import SanityError

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.benchmark import ROLLING

from . import batch, devices, sizes
from .base import KernelCheck
from .build import kernel_build
from .loop_options import LoopOptions
from .partitions import extras_of
from .vocabulary import Extra

OF_A_SWEEP = ["--patterns", "ring,random,ping_pong", "--random-patterns", "1", "--repetitions", "1"]
OF_A_SWEEP += ["--methods", "nonblocking,blocking"]
SWEEP = "sweep"  # the tag of checks that look for slow nodes
FEWEST_NODES = 3  # two nodes have no peers to compare with
PENDING_SECONDS = 10  # of a job on idle nodes, with Slurm's own delays
TOO_SMALL = {}  # why a test case of this session failed for its time budget, by its name, partition and environment


class b_eff_build(kernel_build):
    """The executable of b_eff."""

    benchmark = "b_eff"


@rfm.simple_test
class b_eff(LoopOptions, KernelCheck):
    """b_eff and the detail under it.

    `-S b_eff.sweep=yes` looks for slow nodes: one process on each node of the size, and of the patterns only as many as
    b_eff requires, so that most of the time is left for the matchings of nodes. `-P b_eff.nodes=NAME+NAME+...,...` does
    so on these nodes of Slurm, and only on those that are idle when the job is submitted; `coffeecup nodes --plan`
    chooses them. `-S b_eff.memory=KIND,KIND` is its --memory, at the same sizes.
    """

    descr = "effective bandwidth of MPI communication"
    benchmark = variable(str, value="b_eff")
    sweep = variable(bool, value=False, loggable=True)
    memory = variable(str, value="", loggable=True)
    nodes = variable(str, value="", loggable=True)
    kernel = fixture(b_eff_build, scope="environment")
    tags = {"communication"}

    @run_after("init")
    def set_options(self):
        if self.sweep:
            self.executable_opts += OF_A_SWEEP
            self.processes_per_node = 1
            self.fewest_nodes = FEWEST_NODES
            self.tags |= {SWEEP, *([ROLLING] if self.num_nodes else [])}  # ReFrame filters before it applies -P
        self.executable_opts += self.options_of("memory")

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
        of_sweep = {"processes_per_node": "", "sweep": "yes"} if self.sweep else {}
        return super().requested() | of_sweep | ({ROLLING: "yes"} if self.nodes else {})

    @run_before("run")
    def run_on_idle_nodes(self):
        """Never waits: ReFrame cancels a job that another one anticipated."""
        if not self.nodes:
            return
        idle = batch.slurm_idle(f"--nodes={self.nodes.replace('+', ',')}")
        self.skip_if(len(idle) < FEWEST_NODES, f"of the nodes {self.nodes}, {len(idle)} are idle now")
        self.job.pin_nodes = idle
        self.num_tasks = self.num_processes = len(idle)
        self.max_pending_time = PENDING_SECONDS

    def _never_started(self):
        self.skip_if(self.nodes, f"the nodes {self.nodes} were not idle any more")
        return super()._never_started()

    @run_after("setup")
    def fail_again_if_the_budget_is_too_small(self):
        """Instead of a retry (--max-retries), which would need the same budget. Skipped, it would turn the session
        green."""
        if reason := TOO_SMALL.get(self._test_case()):
            raise SanityError(f"not run again: {reason}")

    def _test_case(self):
        return self.unique_name, self.current_partition.fullname, self.current_environ.name

    def _score(self):
        from coffeecup.postprocess.benchmarks.b_eff.loops import needed_budget_seconds
        from coffeecup.postprocess.benchmarks.scoring import read
        from coffeecup.postprocess.logs.reader import Log

        try:
            return super()._score()
        except SanityError as error:
            log = read(Path(self.stagedir, self.log_name))
            if isinstance(log, Log) and log.benchmark == "b_eff" and needed_budget_seconds(log):
                TOO_SMALL[self._test_case()] = str(error)
            raise


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
