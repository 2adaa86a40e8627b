"""PRIOMark: what the storage makes of a given use of it, at every size and on every file system."""
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_after, run_before, variable

from .base import KernelCheck, sizes_here
from .build import kernel_build
from .tested_directory import TestedDirectory

DEFAULT_WORKLOAD = "default"


class priomark_build(kernel_build):
    """The executable of priomark, with the workloads that come with it."""

    benchmark = "priomark"


@rfm.simple_test
class priomark(TestedDirectory, KernelCheck):
    """PRIOMark's total and the values of the sub-benchmarks of one workload.

    `-S priomark.workload=NAME|FILE` chooses the workload, one that comes with priomark or a file of one's own; `-P
    priomark.workload=default,oltp,webserver` measures several. `-S priomark.only=NAME,...` takes these of its sub-benchmarks alone, `-S
    priomark.plugins=DIRECTORY` tells where those from outside lie. The kernel refuses to start where the space does not suffice. A workload
    that takes more than half an hour needs `-S priomark.time_limit=4h`.

    References are for the default workload, all of it, alone.
    """

    descr = "bandwidth of a workload of storage"
    benchmark = variable(str, value="priomark")
    num_processes = parameter(sizes_here(), loggable=True)
    workload = variable(str, value=DEFAULT_WORKLOAD, loggable=True)
    only = variable(str, value="", loggable=True)
    plugins = variable(str, value="", loggable=True)
    kernel = fixture(priomark_build, scope="environment")
    time_limit = "30m"
    tags = {"io"}

    @run_after("setup")
    def set_options(self):
        """Not earlier: what -P chooses is known when the test has been made."""
        self.executable_opts += ["--log", self.log_name, "--workload", as_seen_from_the_job(self.workload)]
        if self.only:
            self.executable_opts += ["--only", self.only]
        if self.plugins:
            self.executable_opts += ["--plugins", str(Path(self.plugins).resolve())]

    @run_before("compile")
    def compare_the_default_only(self):
        """The bandwidth of another workload is another quantity."""
        if self.workload != DEFAULT_WORKLOAD or self.only:
            self.compare_with_nothing()


def as_seen_from_the_job(workload):
    """A file by its whole path, as the job runs in a folder of its own; the name of a workload that comes with priomark as it is."""
    return str(Path(workload).resolve()) if "/" in workload or Path(workload).suffix else workload
