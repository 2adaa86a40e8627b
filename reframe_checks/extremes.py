# SPDX-License-Identifier: Apache-2.0
"""A check fails at once on an extreme value, by the noise of the site's own history: `-S history=results.db`.

The limit takes the place of the bounds in the reference file, so ReFrame compares, reports and stores it as such.
"""

from functools import cache
from pathlib import Path

import reframe as rfm
from reframe.core import exceptions
from reframe.core.builtins import run_after, variable
from reframe.core.logging import getlogger

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.benchmark import VARIANT
from coffeecup.postprocess.benchmarks.registry import metric_kind

from .references import ReferenceStatus

OF_SERIES = ("benchmark", "num_processes", VARIANT, "file_system", "executable_opts", "stagedir")


class LimitedByHistory(rfm.RegressionTestPlugin):
    """`history` is a results database or whatever else `coffeecup history` reads; without it, nothing changes. Metrics
    of which it has too few sessions keep the bounds of the reference file. `acknowledged` and `thresholds` are the
    site's files of these names."""

    history = variable(str, value="")
    acknowledged = variable(str, value="")
    thresholds = variable(str, value="")

    @run_after("init")
    def find_history(self):
        """Before ReFrame changes the directory."""
        for name in ("history", "acknowledged", "thresholds"):
            setattr(self, name, (path := getattr(self, name)) and str(Path(path).resolve()))

    @run_after("sanity")
    def limit_by_history(self):
        """With the metrics of this run, and before ReFrame compares them."""
        if self.is_dry_run():
            return
        if not self.history:
            if self.acknowledged or self.thresholds:
                raise exceptions.PipelineError("`acknowledged` and `thresholds` require `history`")
            return
        place, units = self.current_partition.fullname, {name: one.unit for name, one in self.perf_variables.items()}
        found = {
            name: entry
            for name, one in self._limits().items()
            if name in units and (entry := self._entry(name, one, units))
        }
        self.reference = {place: self._references | found}
        self.reference_status = ReferenceStatus.HISTORY if found else self.reference_status
        without = sorted(units.keys() - found.keys())
        getlogger().info(
            f"{self.display_name} on {place}: {len(found)} of {len(units)} metrics have a limit from {self.history}"
            + (f", not {', '.join(without)}" if without else "")
        )

    def _entry(self, name, limit, units):
        """A reference in ReFrame's form; None if no value of the metric is beyond the limit."""
        bound = (limit.limit - limit.level) / abs(limit.level) if limit.level else 0.0
        lower, upper = (bound, None) if bound < 0 else (None, bound)
        usable = bound and metric_kind(self.benchmark, name).can_fail(limit.level, lower, upper)
        return (limit.level, lower, upper, units[name]) if usable else None

    def _limits(self):
        from coffeecup.postprocess.history.cases import NODE, of_kernel
        from coffeecup.postprocess.history.outliers import limits
        from coffeecup.postprocess.history.table import SERIES

        node = NODE.search(self.display_name)
        case = of_kernel({name: getattr(self, name, None) for name in OF_SERIES})
        case |= {"system": self.current_system.name, "partition": self.current_partition.name}
        case |= {"environ": self.current_environ.name, "node": node[1] if node else ""}
        values, rules, entries = read(self.history, self.thresholds, self.acknowledged)
        of_system = values[values["system"] == case["system"]]
        return limits(of_system, {name: case[name] for name in SERIES if name != "metric"}, rules, entries)


@cache
def read(history, thresholds, acknowledged):
    """The history's table of session_values without runs in maintenance, the site's rules, and the entries of its file,
    read once a session. Raises a PipelineError if one cannot be read."""
    from coffeecup.postprocess.history import site_files
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.reading import read_sessions
    from coffeecup.postprocess.history.table import tables
    from coffeecup.postprocess.logs.reader import LogError

    try:
        rules = site_files.read_list(Path(thresholds), site_files.Threshold) if thresholds else []
        entries = site_files.read_list(Path(acknowledged), site_files.ANY_KIND) if acknowledged else []
        table = tables(session.columns for session in read_sessions([history]))[1]
    except (LogError, site_files.SiteFileError) as error:
        raise exceptions.PipelineError(f"history: {error}") from None
    return session_values(table[~site_files.in_maintenance(table, entries)]), site_files.SiteRules(rules), entries
