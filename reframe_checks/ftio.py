# SPDX-License-Identifier: Apache-2.0
"""FTIO: how much of an out-of-core Fourier transform is I/O, at every size whose smallest matrix a file system can be
expected to hold."""

import shlex

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.ftio.sizes import (
    DIRECT_MULTIPLE,
    bytes_of_option,
    input_of_option,
    lowest_input,
    matrix_bytes,
)
from coffeecup.postprocess.show.units import GIB

from .base import KernelCheck
from .build import kernel_build
from .sizes import room
from .tested_directory import TestedDirectory

LARGEST_BYTES = 128 * GIB  # the smallest valid matrix grows with the fourth power of the processes
SLOWEST_BYTES_PER_SECOND = 50e6  # of a node
SLOWEST_CALL_SECONDS = 1e-3  # of direct I/O
FAST = 10  # times faster than that is fast enough for a partition that grants less
PASSES = 11  # how often a run reads or writes the matrix
DEFAULT_INPUT, DEFAULT_STORAGE = "64MiB", "posix"


class ftio_build(kernel_build):
    """The executable of ftio."""

    benchmark = "ftio"


@rfm.simple_test
class ftio(TestedDirectory, KernelCheck):
    """FTIO and the rates of its phases.

    `-S ftio.input_parameter=N|auto|SIZE` chooses the matrix. `-S ftio.repetitions=N`, `-S ftio.storage=posix|mpiio` and
    `-S ftio.direct=yes` are passed to the kernel. A result is official with direct I/O, as in the modes `acceptance`
    and `maintenance`, or with a SIZE larger than the memory of the nodes. The smallest matrix grows with the fourth
    power of the processes: `-S ftio.most_per_node=N` starts no more on each node of a partition that has several,
    unless `processes_per_node` is requested.

    `-P ftio.input_parameter=1MiB,16MiB,256MiB,4GiB` is the sweep of the paper's section 5.3; `coffeecup report` names
    the input parameter that represents it. Other input parameters and ways of I/O than the default ones have references
    of their own.
    """

    descr = "share of I/O in an out-of-core Fourier transform"
    benchmark = variable(str, value="ftio")
    input_parameter = variable(str, value=DEFAULT_INPUT, loggable=True)
    repetitions = variable(int, value=3, loggable=True)
    storage = variable(str, value=DEFAULT_STORAGE, loggable=True)
    direct = variable(typ.Bool, value=False, loggable=True)
    most_per_node = variable(type(None), int, value=None, loggable=True)
    kernel = fixture(ftio_build, scope="environment")
    tags = {"io"}

    @run_after("setup")
    def limit_processes(self):
        """Not on a partition of one node, where sizes are numbers of processes: limited, several would be the same."""
        if self.most_per_node and not self.processes_per_node and room(self.current_partition).nodes > 1:
            nodes = self.num_tasks // self.num_tasks_per_node
            self.num_tasks_per_node = min(self.num_tasks_per_node, self.most_per_node)
            self.num_processes = self.num_tasks = nodes * self.num_tasks_per_node

    @run_after("setup")
    def set_options(self):
        """After init, because -P takes effect when the test is instantiated."""
        self.executable_opts += ["--log", self.log_name, "--input", shlex.quote(self.input_parameter)]
        self.executable_opts += ["--repeat", str(self.repetitions), *self.options_of("storage", "direct")]

    @run_after("setup")
    def set_time_limit(self):
        """For a slow file system; the kernel ends by itself, the limit is for what hangs. With direct I/O, each small
        request of the transposition goes to the disk."""
        self.least_bytes = bytes_of_option(self.input_parameter, self.num_processes, self.direct)
        nodes = self.num_tasks // self.num_tasks_per_node
        seconds = PASSES * self.least_bytes / (nodes * SLOWEST_BYTES_PER_SECOND)
        if self.direct:
            i = input_of_option(self.input_parameter, self.num_processes, True) or 0
            seconds += 2 * self.num_processes * i**3 * SLOWEST_CALL_SECONDS
        if not self.time_limit:
            self.time_limit = 600 + int(self.repetitions * seconds)
            self.least_seconds = 60 + int(self.repetitions * seconds / FAST)

    @run_after("setup")
    def skip_what_is_too_large(self):
        smallest = lowest_input(self.num_processes, multiple=DIRECT_MULTIPLE if self.direct else 1)
        least = matrix_bytes(smallest, self.num_processes)
        self.skip_if(
            least > LARGEST_BYTES,
            f"the smallest matrix of {self.num_processes} processes has {least / GIB:.0f} GiB, more than "
            f"the {LARGEST_BYTES / GIB:.0f} GiB that a file system is expected to hold",
        )

    def requested(self):
        """Fractions of different matrices, and those of different ways of I/O, are not comparable."""
        return super().requested() | {
            "input_parameter": self.input_parameter if self.input_parameter != DEFAULT_INPUT else "",
            "direct": "yes" if self.direct else "",
            "storage": self.storage if self.storage != DEFAULT_STORAGE else "",
        }
