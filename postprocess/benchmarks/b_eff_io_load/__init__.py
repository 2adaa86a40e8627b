# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load, the slowdown of parallel I/O by files of other nodes. It is built on b_eff_io's patterns and
accesses."""

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import LOADS, Load, Loaded, LoadedTrial, Plan, Stop
from coffeecup.postprocess.benchmarks.benchmark import Benchmark
from coffeecup.postprocess.benchmarks.load_metrics import of_kinds
from coffeecup.postprocess.logs.format import LogFormat, Progress, one
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo

# Factors by which a load slows down the victims: of the bandwidth, and of the median and the 99th percentile of
# accesses. The kind of load follows.
FACTORS = {
    "impact": "bandwidth without load / with load",
    "access_impact": "time of an access with load / without, median",
    "access_impact_99": "time of an access with load / without, 99th percentile",
}
WORDS: dict[str, str] = dict(zip(METHODS, ("initial write", "rewrite", "read"), strict=True))
IMPACTS = {
    f"{method}_{name}_by": f"{words}, {label}" for method, words in WORDS.items() for name, label in FACTORS.items()
}


def planned_passes(plan: Plan) -> int:
    return plan.repetitions * len(plan.load.phases) * len(METHODS) * len(plan.patterns)


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff_io under load",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and "
    "b_eff_io. The patterns are theirs, the load is not.",
    metrics=of_kinds(LOADS, IMPACTS),
    uses=frozenset({"b_eff_io"}),
    has_official=False,
    rules={"under_load": "measured under load"},
    log_format=LogFormat(
        own=(Plan, MpiIo, Loaded, LoadedTrial, Load, Stop, DataCheck),
        options="directory log kinds victims load-file scheduled-time dry-run seed space-limit hints check-all "
        "hang-after idle-power keep",
        progress=Progress(planned=planned_passes, done={Loaded: one}),
    ),
)
