# SPDX-License-Identifier: Apache-2.0
"""What the checks of all kernels have in common."""

import shlex

import reframe as rfm
from reframe.core.builtins import run_after

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.benchmark import STANDARD

from .build import BuiltKernel
from .extremes import LimitedByHistory
from .launch import MpiLaunch, OneAtATime, SizedRun
from .logged import LoggedOnce
from .measured import MeasuredByLog
from .partitions import extras_of
from .references import ExternalReferences
from .vocabulary import Extra


class KernelCheck(
    rfm.RunOnlyRegressionTest,
    BuiltKernel,
    SizedRun,
    MpiLaunch,
    OneAtATime,
    MeasuredByLog,
    ExternalReferences,
    LimitedByHistory,
    LoggedOnce,
):
    """Contract of a check.

    A derived class gives:
      - `benchmark`: the kernel's name, which is also the name of the log and of its metrics in `postprocess`;
      - `kernel`: a fixture derived from `kernel_build`, scope environment;
      - `executable_opts` with `--log` and `log_name`;
      - `time_limit`, unless it was given with `-S <check>.time_limit=`;
      - a file of its class's name in reference_values/.

    It gets: real MPI processes at every size the partition offers, alone on its nodes; a sanity check that accepts a
    complete, clean log of this very run and nothing else; the metrics of `postprocess`, compared with references where
    there are any and marked where there are none; and how it all came about as loggable variables.

    It never names a site: features and extras (vocabulary.py) are all that it asks for.
    """

    valid_prog_environs = ["*"]
    sourcesdir = None
    exclusive_access = True

    @run_after("setup")
    def add_options_of_the_site(self):
        self.executable_opts += extras_of(self.current_partition).get(Extra.KERNEL_OPTIONS, {}).get(self.benchmark, [])

    def options_of(self, *names):
        """The kernel's options for variables of the check that have their names, such as --time-budget with the value
        of `time_budget`: without a value for True, none for False, None and empty text."""
        words = []
        for name in names:
            option, value = f"--{name.replace('_', '-')}", getattr(self, name)
            if value is True:
                words += [option]
            elif value is not False and value is not None and value != "":
                words += [option, shlex.quote(str(value))]
        return words

    @run_after("setup")
    def state_the_variant(self):
        requested = self.requested().items()
        self.variant = " ".join(f"{name}={value}" for name, value in requested if value) or STANDARD

    def requested(self) -> dict[str, object]:
        """What makes a run comparable with others of the same request only: a variable of the check to its value, empty
        if it was not requested."""
        return {"placement": self.placement, "processes_per_node": self.processes_per_node}
