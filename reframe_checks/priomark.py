# SPDX-License-Identifier: Apache-2.0
"""PRIOMark: the I/O performance of a workload, at every size and on every file system."""

import shlex
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .base import KernelCheck
from .build import kernel_build
from .io_options import IoOptions
from .paths import as_seen_from_the_job
from .tested_directory import TestedDirectory

DEFAULT_WORKLOAD = "default"


class priomark_build(kernel_build):
    """The executable of priomark, with the workloads that come with it."""

    benchmark = "priomark"


@rfm.simple_test
class priomark(IoOptions, TestedDirectory, KernelCheck):
    """PRIOMark's total and the values of the sub-benchmarks of one workload.

    `-S priomark.workload=NAME|FILE` chooses the workload, an included one or your own file; `-P
    priomark.workload=default,oltp,webserver` measures several. `-S priomark.only=NAME,...` runs only these
    sub-benchmarks, `-S priomark.interfaces=DIRECTORY` is the directory of loaded interfaces. The kernel refuses to
    start if there is not enough space. A workload of more than half an hour needs `-S priomark.time_limit=4h`.

    Other workloads than the complete default one have references of their own.
    """

    descr = "bandwidth of a workload of storage"
    benchmark = variable(str, value="priomark")
    workload = variable(str, value=DEFAULT_WORKLOAD, loggable=True)
    only = variable(str, value="", loggable=True)
    interfaces = variable(str, value="", loggable=True)
    kernel = fixture(priomark_build, scope="environment")
    tags = {"io"}

    @run_after("init")
    def set_time_limit(self):
        if not self.time_limit:
            self.time_limit, self.least_seconds = 1800, 600

    @run_after("setup")
    def set_options(self):
        """After init, because -P takes effect when the test is instantiated."""
        self.executable_opts += ["--log", self.log_name, "--workload", shlex.quote(workload_of_the_job(self.workload))]
        self.executable_opts += self.options_of("only")
        if self.interfaces:
            self.executable_opts += ["--interfaces", shlex.quote(as_seen_from_the_job(self.interfaces))]

    def requested(self):
        """Bandwidths of different workloads are not comparable."""
        workload = self.workload if self.workload != DEFAULT_WORKLOAD else ""
        return super().requested() | {"workload": workload, "only": self.only}


def workload_of_the_job(workload):
    """The path of a file as the job needs it; the name of an included workload unchanged."""
    return as_seen_from_the_job(workload) if "/" in workload or Path(workload).suffix else workload
