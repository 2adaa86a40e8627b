# SPDX-License-Identifier: Apache-2.0
"""b_eff, the effective bandwidth of MPI communication."""

from coffeecup.postprocess.benchmarks.b_eff.parts import parts
from coffeecup.postprocess.benchmarks.b_eff.records import Budget, DataCheck, Latency, Measurement, Plan, Stop, Trial
from coffeecup.postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from coffeecup.postprocess.logs.format import LogFormat, Progress, one


def left_out(plan: Plan, budget: Budget) -> int:
    """The loops that enter b_eff and that a budget record leaves out."""
    planned = sum(len(pattern.methods) for pattern in plan.patterns if pattern.name == budget.pattern)
    return planned - len(budget.methods) if budget.loops == "bandwidth" else 0


def planned_loops(plan: Plan) -> int:
    return plan.repetitions * len(plan.message_bytes) * sum(len(pattern.methods) for pattern in plan.patterns)


METRICS = (
    MetricKind("b_eff", "MByte/s", Better.HIGHER),
    MetricKind("b_eff_per_process", "MByte/s", Better.HIGHER),
    MetricKind("b_eff_at_l_max", "MByte/s", Better.HIGHER),
    MetricKind("b_eff_at_l_max_per_process", "MByte/s", Better.HIGHER),
    MetricKind("b_eff_at_l_max_rings_per_process", "MByte/s", Better.HIGHER),
    MetricKind("ping_pong_bandwidth", "MByte/s", Better.HIGHER),
    # A single pair of processes: its value depends mostly on where they are placed.
    MetricKind("ping_pong_latency", "us", Better.LOWER),
    MetricKind("ring_latency", "us", Better.LOWER),
    MetricKind("ring_latency_per_message", "us", Better.LOWER),
    MetricKind("b_eff_release_3_6", "MByte/s", Better.HIGHER),
    MetricKind("time_to_communicate_total_memory", "s", Better.LOWER),
    MetricKind("l_max", "MiB", Better.NEITHER),
)


# Only of runs on partitions whose R_max is known. R_MAX is that of all nodes of the run.
BALANCE_FACTOR = MetricKind("balance_factor", "byte/flop", Better.HIGHER, optional=True)
R_MAX = MetricKind("r_max", "Gflop/s", Better.NEITHER, optional=True)


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and "
    "b_eff_io.",
    metrics=METRICS,
    variants=(
        BALANCE_FACTOR,
        R_MAX,
        *(metric for part in parts() for metric in part.variants(METRICS, BALANCE_FACTOR)),
    ),
    log_format=LogFormat(
        own=(
            Plan,
            Measurement,
            Trial,
            Latency,
            Budget,
            Stop,
            *(record for part in parts() for record in part.records),
            DataCheck,
        ),
        options=" ".join(
            [
                "log memory-per-process time-budget patterns methods seed first-loop-length longest-loop repetitions "
                "random-patterns idle-power hang-after",
                *(option for part in parts() for option in part.options),
            ]
        ),
        progress=Progress(planned=planned_loops, done={Measurement: one}, left_out={Budget: left_out}),
    ),
    rules={
        "memory_by_option": "memory set by option",
        "repetitions": "not 3 repetitions",
        "measured_seldom": "reduced to its budget",
        "first_loop_length": "other first loop",
        "longest_loop_length": "limited loops",
        "random_patterns": "not 30 random patterns",
        "methods": "methods left out",
        **{rule: text for part in parts() for rule, text in part.rules.items()},
    },
    forms={Form.SHORT: {"time_budget": "30"}, Form.SWEEP: {"sweep": "yes", "time_budget": "60"}},
)
