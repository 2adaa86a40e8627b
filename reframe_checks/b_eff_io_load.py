# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load: what the I/O of other users costs, at every size of two nodes or more."""

import reframe as rfm
from reframe.core.builtins import fixture, run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .base import KernelCheck
from .build import kernel_build
from .io_options import hints_of_the_job
from .tested_directory import TestedDirectory
from .under_load import UnderLoad

KERNEL_SECONDS = 240  # the kernel's default


class b_eff_io_load_build(kernel_build):
    """The executable of b_eff_io_load, which comes with b_eff_io's package."""

    benchmark = "b_eff_io_load"
    package = "b-eff-io"


@rfm.simple_test
class b_eff_io_load(UnderLoad, TestedDirectory, KernelCheck):
    """What the I/O of other users costs: some of b_eff_io's patterns on half of the nodes, while the other half reads
    or writes files of its own in the same file system. `-S b_eff_io_load.scheduled_time=SECONDS` is the time of the
    run, 240 by default; `-S b_eff_io_load.hints=NAME=VALUE,...|FILE` is passed to the kernel."""

    descr = "slowdown of parallel I/O under load"
    benchmark = variable(str, value="b_eff_io_load")
    scheduled_time = variable(type(None), float, value=None, loggable=True)
    hints = variable(str, value="", loggable=True)
    kernel = fixture(b_eff_io_load_build, scope="environment")
    tags = {"io"}
    fewest_nodes = 2  # one that is measured, and one that generates load

    @run_after("init")
    def set_options(self):
        self.hints = hints_of_the_job(self.hints)
        self.executable_opts = ["--log", self.log_name, *self.options_of("scheduled_time", "hints")]

    @run_after("init")
    def set_time_limit(self):
        """Three times what is scheduled and ten minutes: the kernel ends runs that hang first, the limit is for what
        it does not notice."""
        self.time_limit = self.time_limit or 3 * int(self.scheduled_time or KERNEL_SECONDS) + 600
