"""b_eff, the effective bandwidth of MPI communication."""

from postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from postprocess.logs.format import Progress


def methods_of(plan: dict, name: str) -> list[str]:
    return next(pattern["methods"] for pattern in plan["patterns"] if pattern["name"] == name)


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and b_eff_io.",
    metrics=(
        MetricKind("b_eff", "MByte/s", Better.HIGHER),
        MetricKind("b_eff_per_process", "MByte/s", Better.HIGHER),
        MetricKind("b_eff_at_l_max", "MByte/s", Better.HIGHER),
        MetricKind("b_eff_at_l_max_per_process", "MByte/s", Better.HIGHER),
        MetricKind("b_eff_at_l_max_rings_per_process", "MByte/s", Better.HIGHER),
        MetricKind("ping_pong_bandwidth", "MByte/s", Better.HIGHER),
        # A single pair of processes: where they are placed is most of it.
        MetricKind("ping_pong_latency", "us", Better.LOWER, smallest_change=0.2),
        MetricKind("ring_latency", "us", Better.LOWER, smallest_change=0.2),
        MetricKind("time_to_communicate_total_memory", "s", Better.LOWER),
        MetricKind("l_max", "MiB", Better.NEITHER),
    ),
    progress=Progress(
        planned=lambda plan: len(plan["message_bytes"]) * sum(len(pattern["methods"]) for pattern in plan["patterns"]),
        done={"measurement": lambda plan, measurement: 1},
        left_out={"budget": lambda plan, budget: len(methods_of(plan, budget["pattern"])) - len(budget["methods"])},
    ),
    forms={Form.SHORT: {"time_budget": "30"}},
    balance_factor="reduction.with_balance_factor",
)
