# SPDX-License-Identifier: Apache-2.0
"""Checks of benchmarks under load: half of the nodes are measured without load and while the other half generates
it."""

import shlex
from importlib import import_module

import reframe as rfm
from reframe.core.builtins import run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .partitions import compute_partitions, features_of
from .vocabulary import Feature


class UnderLoad(rfm.RegressionTestPlugin):
    """Runs only on partitions with the feature `load`. `-S <check>.load=KIND,KIND` and `-S <check>.victims=SHARE` are
    the kernel's --kinds and --victims; without `load` it is every kind of `default_kinds`. Each kind has to yield all
    of its metrics."""

    load = variable(str, value="", loggable=True)
    victims = variable(str, value="", loggable=True)

    @property
    def kinds(self):
        return self.load.split(",") if self.load else self.default_kinds

    @property
    def default_kinds(self):
        return [*self._package.LOADS]

    @property
    def _package(self):
        from coffeecup.postprocess.benchmarks.registry import benchmarks

        return import_module(benchmarks()[self.benchmark].package)

    @run_after("init")
    def keep_partitions_that_may_be_loaded(self):
        allowed = {p.fullname for p in compute_partitions() if Feature.LOAD in features_of(p)}
        self.valid_systems = [name for name in self.valid_systems if name in allowed]

    @run_after("setup")
    def set_load(self):
        self.load = ",".join(self.kinds)
        self.executable_opts += ["--kinds", shlex.quote(self.load), *self.options_of("victims")]

    def expected_units(self):
        from coffeecup.postprocess.benchmarks.load_metrics import of_kinds

        return {metric.name: metric.unit for metric in of_kinds(self.kinds, self._package.IMPACTS)}

    def optional_metrics(self):
        return frozenset()
