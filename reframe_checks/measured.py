# SPDX-License-Identifier: Apache-2.0
"""From a kernel's log to ReFrame's sanity and performance: `postprocess` alone reads and reduces it.

`postprocess` is imported where it is used: it brings pandas, and listing the checks needs neither.
"""

import math
import re
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, sanity_function, variable
from reframe.core.exceptions import SanityError

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.reframe_checks.batch import ask, energy


class MeasuredByLog(rfm.RegressionTestPlugin):
    """The log is the result: it must be complete and valid, belong to this run, and yield every metric of its
    benchmark.

    The derived class sets `benchmark`.
    """

    log_sha256 = variable(str, value="", loggable=True)
    kernel_version = variable(str, value="", loggable=True)
    git_revision = variable(str, value="", loggable=True)
    spack_hash = variable(str, value="", loggable=True)
    mpi_library = variable(str, value="", loggable=True)
    num_hosts = variable(int, value=0, loggable=True)
    official = variable(bool, value=False, loggable=True)
    qualifications = variable(str, value="", loggable=True)
    breaches = variable(str, value="", loggable=True)
    facts = variable(dict, value={}, loggable=True)
    node_effects = variable(dict, value={}, loggable=True)
    slurm_energy = variable(dict, value={}, loggable=True)

    @property
    def log_name(self):
        return f"{self.benchmark}.jsonl"

    @run_after("setup")
    def expect_log_and_metrics(self):
        self.keep_files = [self.log_name]
        for name, unit in self.expected_units().items():
            self.perf_variables[name] = sn.make_performance_function(self.value_of, unit, name)

    def expected_units(self):
        """The unit of each metric that the log has to yield, except optional ones."""
        from coffeecup.postprocess.benchmarks.registry import benchmarks

        return benchmarks()[self.benchmark].units

    def optional_metrics(self):
        """Those that a log of this check may lack."""
        from coffeecup.postprocess.benchmarks.registry import benchmarks

        return benchmarks()[self.benchmark].optional_metrics

    def value_of(self, name):
        return self._values[name]

    @sanity_function
    def score_complete_log(self):
        """Checks everything that must be true before metrics are compared."""
        score = self._score()
        run = score.log.run
        if (run.benchmark, run.ranks) != (self.benchmark, self.num_tasks):
            raise SanityError(
                f"{self.benchmark} on {self.num_tasks} processes was requested, "
                f"but the log belongs to {run.benchmark} on {run.ranks}"
            )
        self._check_hash(score.log)
        stopped = [limit.text for limit in score.qualifications if limit.key == "stopped"]
        self._check_metrics(score.metrics, stopped)
        self._values = {name: metric.value for name, metric in score.metrics.items()}
        self._record(score, run)
        return True

    def _score(self):
        from coffeecup.postprocess.benchmarks.scoring import score_log
        from coffeecup.postprocess.logs import hangs
        from coffeecup.postprocess.logs.reader import LogError

        log = Path(self.stagedir, self.log_name)
        if not Path(self.stagedir, self.job.stderr).exists():
            raise SanityError(self._never_started())
        if not log.exists():
            raise SanityError(f"no log was written; output of the job: {self._job_complaint()}")
        try:
            return score_log(log)
        except LogError as error:
            self.node_effects = hangs.stored(log)
            raise SanityError(f"{error}; output of the job: {self._job_complaint()}") from None

    def _check_hash(self, log):
        """The kernel prints the hash of what it wrote, so a log that was changed since is noticed."""
        output = Path(self.stagedir, self.job.stdout).read_text(encoding="utf-8", errors="replace")
        if re.findall(r"SHA-256 of the log .*: ([0-9a-f]{64})", output) != [log.sha256]:
            raise SanityError(
                f"{self.log_name} is not what the kernel wrote: its SHA-256 is {log.sha256}, which the output of the "
                "job does not state; find out what changed the log, and rerun the benchmark"
            )

    def _never_started(self):
        """ReFrame cancels a job that waits longer than `max_pending_time` and continues as if it had run. Slurm still
        reports the reason."""
        waited = f" within {self.max_pending_time:g} s" if self.max_pending_time else ""
        said = ask("squeue", "--states=all", "--noheader", f"--jobs={self.job.jobid}", "--format=%T %r")
        reported = f"; squeue reports: {said}" if said else ""
        return (
            f"job {self.job.jobid} did not start{waited}{reported}; "
            "check for nodes that are down or drained, and the queue"
        )

    def _job_complaint(self):
        """The first lines of the job's stderr, without the rules around Open MPI's messages."""
        text = Path(self.stagedir, self.job.stderr).read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
        return " ".join(lines[:8]) or "nothing on stderr"

    def _check_metrics(self, metrics, why):
        for name in self.optional_metrics() - metrics.keys():
            self.perf_variables.pop(name, None)
        for name in metrics.keys() - self.perf_variables.keys():
            self.perf_variables[name] = sn.make_performance_function(self.value_of, metrics[name].unit, name)
        units = {name: expression.unit for name, expression in self.perf_variables.items()}
        if metrics.keys() != units.keys():
            different = sorted(metrics.keys() ^ units.keys())
            raise SanityError("; ".join([f"the score does not have the expected metrics: {different}", *why]))
        for name, metric in metrics.items():
            if metric.unit != units[name]:
                raise SanityError(f"{name} is in {metric.unit!r}, not in {units[name]!r}")
            if not math.isfinite(metric.value):
                raise SanityError(f"{name} is not a finite number: {metric.value}")

    def _record(self, score, run):
        from coffeecup.postprocess.benchmarks.nodes import stored
        from coffeecup.postprocess.logs.facts import facts

        self.log_sha256 = score.log.sha256
        self.kernel_version = run.kernel_version
        self.git_revision = run.build.git_revision or ""
        self.spack_hash = run.build.spack_hash or ""
        self.mpi_library = run.mpi.library
        self.num_hosts = len(run.hosts)
        self.official = score.official
        self.qualifications = ",".join(qualification.key for qualification in score.qualifications)
        self.breaches = ",".join(breach.key for breach in score.breaches)
        self.facts = facts(score.log)
        self.node_effects = stored(score.nodes) if score.nodes else {}
        self.slurm_energy = energy(self.current_partition, self.job)
