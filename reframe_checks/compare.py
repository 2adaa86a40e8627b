# SPDX-License-Identifier: Apache-2.0
"""Comparisons of the arms of a plan (the page Compare two settings), all in one job on the same nodes: one check for
each benchmark, such as compare_b_eff."""

import shlex
import sys
from importlib import import_module
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PipelineError, SanityError
from reframe.core.meta import make_test

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.registry import benchmarks

from .build import BuiltKernel
from .launch import MpiLaunch, OneAtATime, SizedRun
from .logged import LoggedOnce

RESULT = "runs/result.json"


class Comparison(rfm.RunOnlyRegressionTest, BuiltKernel, SizedRun, MpiLaunch, OneAtATime, LoggedOnce):
    """`-S compare_NAME.plan=FILE` names the plan; without it nothing is compared. The command of the plan begins with
    the name of the kernel, without a launcher: both are those of the partition, and so is the number of processes. The
    check passes if everything is decided. Its metrics are the ratios to the first arm."""

    descr = "comparison of settings, libraries or programs"
    plan = variable(str, value="", loggable=True)
    valid_prog_environs = ["*"]
    sourcesdir = None
    exclusive_access = True
    tags = {"comparison"}

    @run_after("init")
    def compare_what_a_plan_names(self):
        if not self.plan:
            self.valid_systems = []

    @run_after("setup")
    def read_the_plan(self):
        from coffeecup.postprocess.comparison.plan import PlanError, read_plan

        try:
            self._plan = read_plan(Path(self.plan))
        except PlanError as error:
            raise PipelineError(str(error)) from None
        if self._plan.command[0] != self.benchmark or any(arm.command for arm in self._plan.arms.values()):
            raise PipelineError(f"{self.plan}: the only command here is {self.benchmark!r}, with options")
        self.keep_files = [RESULT, "figures"]

    @run_before("run")
    def run_all_arms_in_one_job(self):
        """`coffeecup compare` gets the command that starts the kernel, which ReFrame writes behind it."""
        compare = [str(Path(sys.executable).with_name("coffeecup")), "compare", str(Path(self.plan).resolve())]
        compare += ["-o", "runs", "--figures", "figures", "--"]
        launcher = self.job.launcher
        words = [*filter(None, [launcher.modifier]), *launcher.modifier_options, *map(shlex.quote, compare)]
        launcher.modifier, launcher.modifier_options = words[0], words[1:]
        self.executable_opts = [*map(shlex.quote, self._plan.command[1:])]

    @sanity_function
    def everything_is_decided(self):
        """Or the reasons why not."""
        from coffeecup.postprocess.comparison.plan import PlanError
        from coffeecup.postprocess.comparison.result import read_comparison

        try:
            found = read_comparison(Path(self.stagedir, RESULT))
        except PlanError:
            errors = Path(self.stagedir, self.job.stderr).read_text(encoding="utf-8", errors="replace")
            raise SanityError(f"nothing was compared: {' '.join(errors.split()[-60:])}") from None
        for each in found.verdicts:
            name = f"{each.metric}_of_{each.arm}"
            self.perf_variables[name] = sn.make_performance_function(sn.defer(each.middle), "1", name)
        reasons = [*found.obstacles, *(f"{run.folder}: {run.problem}" for run in found.failed)]
        if not found.holds:
            raise SanityError("; ".join(reasons) or "cannot tell: more pairs are needed")
        return True


for _name in benchmarks():
    _kernel = getattr(import_module(f".{_name}", __package__), f"{_name}_build")
    _fields = {"benchmark": _name, "kernel": fixture(_kernel, scope="environment")}
    rfm.simple_test(make_test(f"compare_{_name}", (Comparison,), _fields, module=__name__))
