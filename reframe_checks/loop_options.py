# SPDX-License-Identifier: Apache-2.0
"""The options of checks that measure loops of messages in a time budget."""

import reframe as rfm
from reframe.core.builtins import run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

KERNEL_BUDGET_SECONDS = 240  # the kernels' default


class LoopOptions(rfm.RegressionTestPlugin):
    """`-S <check>.time_budget=SECONDS` and `-S <check>.memory_per_process=SIZE` are passed to the kernel; with small
    ones the run is short and its result is marked as unofficial."""

    time_budget = variable(type(None), int, value=None, loggable=True)
    memory_per_process = variable(str, value="", loggable=True)

    @run_after("init")
    def set_options_of_loops(self):
        self.executable_opts = ["--log", self.log_name, *self.options_of("time_budget", "memory_per_process")]

    @run_after("init")
    def set_time_limit(self):
        """Twice the budget and five minutes: the kernel ends by itself, the limit is for what hangs."""
        self.time_limit = self.time_limit or 2 * (self.time_budget or KERNEL_BUDGET_SECONDS) + 300
