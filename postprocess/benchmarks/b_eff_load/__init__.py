# SPDX-License-Identifier: Apache-2.0
"""b_eff_load, the slowdown of MPI communication by the traffic of other nodes. It is built on b_eff's patterns and
loops."""

from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Stop
from coffeecup.postprocess.benchmarks.b_eff_load.records import LOADS, Load, Loaded, LoadedTrial, Plan
from coffeecup.postprocess.benchmarks.benchmark import Benchmark
from coffeecup.postprocess.benchmarks.load_metrics import of_kinds
from coffeecup.postprocess.logs.format import LogFormat, Progress, one

# Factors by which a load slows down the victims: of b_eff, and of the median and the 99th percentile of exchanges.
IMPACTS = {
    "b_eff_impact": "b_eff of the victims without load / with load",
    "b_eff_at_l_max_impact": "b_eff of the victims at L_max without load / with load",
    "latency_impact": "time of 1 byte with load / without, median exchange",
    "latency_impact_99": "time of 1 byte with load / without, 99th percentile",
    "bandwidth_impact": "time at L_max with load / without, median exchange",
    "bandwidth_impact_99": "time at L_max with load / without, 99th percentile",
}


def planned_loops(plan: Plan) -> int:
    return plan.repetitions * len(plan.message_bytes) * len(plan.load.phases) * len(plan.patterns)


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff under load",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and "
    "b_eff_io. The patterns are theirs, the load is not.",
    metrics=of_kinds(LOADS, IMPACTS),
    uses=frozenset({"b_eff"}),
    has_official=False,
    log_format=LogFormat(
        own=(Plan, Loaded, LoadedTrial, Load, Stop, DataCheck),
        options="log kinds victims directory time-budget memory-per-process seed first-loop-length longest-loop "
        "repetitions random-patterns idle-power hang-after",
        progress=Progress(planned=planned_loops, done={Loaded: one}),
    ),
    rules={"memory_by_option": "memory set by option", "under_load": "measured under load"},
)
