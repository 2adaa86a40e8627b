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
    MetricKind("b_eff", "MByte/s", Better.HIGHER, "b_eff"),
    MetricKind("b_eff_per_process", "MByte/s", Better.HIGHER, "b_eff per process"),
    MetricKind("b_eff_at_l_max", "MByte/s", Better.HIGHER, "b_eff at L_max"),
    MetricKind("b_eff_at_l_max_per_process", "MByte/s", Better.HIGHER, "b_eff at L_max per process"),
    MetricKind(
        "b_eff_at_l_max_rings_per_process", "MByte/s", Better.HIGHER, "b_eff at L_max per process, ring patterns"
    ),
    MetricKind("ping_pong_bandwidth", "MByte/s", Better.HIGHER, "ping-pong bandwidth at L_max"),
    # A single pair of processes: its value depends mostly on where they are placed.
    MetricKind("ping_pong_latency", "us", Better.LOWER, "ping-pong latency, half a round trip of 1 byte"),
    MetricKind("ring_latency", "us", Better.LOWER, "ring latency per exchange, 1 byte with both neighbours"),
    MetricKind(
        "ring_latency_per_message",
        "us",
        Better.LOWER,
        "ring latency per message, as the original program and HPCC report it",
    ),
    MetricKind(
        "b_eff_release_3_6", "MByte/s", Better.HIGHER, "b_eff by the formula of release 3.6 of the original program"
    ),
    MetricKind("time_to_communicate_total_memory", "s", Better.LOWER, "time to communicate the total memory"),
    MetricKind("l_max", "MiB", Better.NEITHER, "L_max, the longest message"),
)


# Only of runs on partitions whose R_max is known. R_MAX is that of all nodes of the run.
BALANCE_FACTOR = MetricKind(
    "balance_factor", "byte/flop", Better.HIGHER, "balance factor, b_eff / R_max", optional=True
)
R_MAX = MetricKind(
    "r_max", "Gflop/s", Better.NEITHER, "R_max, the Linpack performance of the nodes of the run", optional=True
)


# Of predictions. The report on a log has it in a table of rings and random order.
RANDOM_AT_L_MAX = MetricKind(
    "b_eff_at_l_max_random_per_process", "MByte/s", Better.HIGHER, "b_eff at L_max per process, random patterns"
)


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
    predicted=(RANDOM_AT_L_MAX,),
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
