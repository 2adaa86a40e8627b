# SPDX-License-Identifier: Apache-2.0
"""Attributes that ReFrame logs for each test."""

import reframe as rfm

from coffeecup.postprocess import reframe_version  # noqa: F401


class LoggedOnce(rfm.RegressionTestPlugin):
    """Every loggable attribute but `variables`, the old name of `env_vars`: each time it is asked for, ReFrame 4.10.4
    searches the call stack for the place to warn about, which dominates the time of a dry run."""

    @classmethod
    def loggable_attrs(cls):
        return [(name, alias) for name, alias in type(cls).loggable_attrs(cls) if name != "variables"]
