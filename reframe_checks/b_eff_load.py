# SPDX-License-Identifier: Apache-2.0
"""b_eff_load: what the traffic of other users costs, at every size of four nodes or more."""

import reframe as rfm
from reframe.core.builtins import fixture, run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .base import KernelCheck
from .build import kernel_build
from .loop_options import LoopOptions
from .partitions import say
from .tested_directory import TestedDirectory
from .under_load import UnderLoad
from .vocabulary import STAGE

IO = "io"  # the load that requires a directory


class b_eff_load_build(kernel_build):
    """The executable of b_eff_load, which comes with b_eff's package."""

    benchmark = "b_eff_load"
    package = "b-eff"


@rfm.simple_test
class b_eff_load(UnderLoad, TestedDirectory, LoopOptions, KernelCheck):
    """What other users' traffic costs, on each file system that the partition names: the load `io` writes and reads
    there. Where it names none, `io` is left out unless `-S b_eff_load.load=` or `-S b_eff_load.directory=` requests
    it."""

    descr = "slowdown of MPI communication under load"
    benchmark = variable(str, value="b_eff_load")
    kernel = fixture(b_eff_load_build, scope="environment")
    tags = {"communication"}
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
