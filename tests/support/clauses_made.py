# SPDX-License-Identifier: Apache-2.0
"""A clause, and runs as far as its evaluation looks at them."""

from types import SimpleNamespace

from logs_made import file_system

from coffeecup.postprocess.acceptance.contract import Clause
from coffeecup.postprocess.acceptance.evaluation import evaluate_clause
from coffeecup.postprocess.acceptance.terms import Terms
from coffeecup.postprocess.logs.records import Filesystem

PLACE = {"system": "hawk", "partition": "rome", "processes": 256, "hosts": None, "directory": None, "filesystem": None}
VALUE = {"benchmark": "b_eff", "metric": "b_eff", "unit": "MByte/s", "floor": 1000.0, "ceiling": None}
AGREED = {"official": False, "repetitions": 2, "statistic": "median", "excluded_nodes": {}}
CLAUSE = Clause(name="bandwidth", **PLACE, **VALUE, **AGREED)


def log(start="2026-12-01T23:59:59Z", files=(), library="Open MPI v4.1.4, Debian", **build):
    """What a log states about the software of a run."""
    stated = {"git_revision": "0123abc", "source_sha256": "a" * 64, "compiler": "GNU 12.2.0"} | build
    run = SimpleNamespace(
        benchmark="b_eff", start_time=start, build=SimpleNamespace(**stated), mpi=SimpleNamespace(library=library)
    )
    return SimpleNamespace(run=run, plan=SimpleNamespace(), all=lambda _: [SimpleNamespace(files=files)])


def run(value=1000.0, breaches=(), cache_affected=(), qualifications=(), **other):
    """A run that counts for CLAUSE, unless `other` changes it."""
    place = {"benchmark": "b_eff", "system": "hawk", "partition": "rome", "processes": 256, "hosts": ("n1", "n2")}
    system = Filesystem(**file_system("lustre", directory="/scratch/run"))
    found = {"breaches": breaches, "cache_affected": cache_affected, "qualifications": (*breaches, *qualifications)}
    made = {**place, "filesystem": system, "kernel_version": "1.0", "refusals": (), "reported": None, "parameters": {}}
    made |= {"sha256_recorded": "a" * 64, "sha256_now": "a" * 64}
    made |= {"score": SimpleNamespace(**found, log=log())} | other
    metric = None if value is None else SimpleNamespace(value=value)
    return SimpleNamespace(**made, metric=lambda name: metric if name == "b_eff" else None)


def verdict(clause, *runs, **terms):
    return evaluate_clause(clause, list(runs), Terms(**terms))
