# SPDX-License-Identifier: Apache-2.0
"""Options of the kernels that do I/O and that go beyond the papers."""

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, variable

from coffeecup.postprocess import reframe_version  # noqa: F401

from .paths import as_seen_from_the_job


class IoOptions(rfm.RegressionTestPlugin):
    """`-S <check>.read_shift=yes`: every process reads what a process of another node wrote.
    `-S <check>.fill_memory=80%`: this share of each node's memory is filled while files are read.
    Such runs have references of their own."""

    read_shift = variable(typ.Bool, value=False, loggable=True)
    fill_memory = variable(str, value="", loggable=True)

    @run_after("setup")
    def add_io_options(self):
        self.executable_opts += self.options_of("read_shift", "fill_memory")

    def requested(self):
        return super().requested() | {"read_shift": "yes" if self.read_shift else "", "fill_memory": self.fill_memory}


def hints_of_the_job(hints):
    """The path of a file as the job needs it; hints themselves, NAME=VALUE,..., unchanged: told apart as in
    kernels/common/options.c."""
    return hints if "=" in hints.partition("/")[0] else as_seen_from_the_job(hints)
