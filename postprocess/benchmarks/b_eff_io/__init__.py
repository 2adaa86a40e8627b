# SPDX-License-Identifier: Apache-2.0
"""b_eff_io, the effective bandwidth of parallel I/O."""

from postprocess.benchmarks.b_eff_io.load_records import Load, Loaded, LoadedTrial, Stop
from postprocess.benchmarks.b_eff_io.records import (
    LOADS,
    Layout,
    Measurement,
    PatternType,
    Plan,
    ProcessTimes,
)
from postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from postprocess.benchmarks.load_metrics import of_kinds
from postprocess.logs.format import LogFormat, Progress
from postprocess.logs.records import DataCheck, MemoryFill, MpiIo, Record

# Factors by which a load slows down the victims: of the bandwidth, and of the median and the 99th percentile of
# accesses. The kind of load follows.
IMPACTS = tuple(
    f"{method}_{what}_by"
    for method in ("write", "rewrite", "read")
    for what in ("impact", "access_impact", "access_impact_99")
)


def planned_patterns(plan: Plan) -> int:
    phases = plan.load.repetitions * (2 * len(plan.load.kinds) + 1) if plan.load else 1
    return phases * len(plan.partitions) * len(plan.methods) * len(plan.patterns)


def one(plan: Plan, measurement: Record) -> int:
    return 1


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff_io",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and "
    "b_eff_io.",
    metrics=(
        # The optional ones are missing from the Top Clusters form.
        MetricKind("b_eff_io", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("b_eff_io_2_1", "MByte/s", Better.HIGHER),
        MetricKind("b_eff_io_0_5", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("write", "MByte/s", Better.HIGHER),
        MetricKind("rewrite", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("read", "MByte/s", Better.HIGHER),
        MetricKind("scatter", "MByte/s", Better.HIGHER),
        MetricKind("shared", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("separate", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("segmented", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("segmented_collective", "MByte/s", Better.HIGHER, optional=True),
        MetricKind("best_partition", "processes", Better.NEITHER),
        MetricKind("memory_write_time", "min", Better.LOWER),
        MetricKind("memory_read_time", "min", Better.LOWER),
        MetricKind("written_share_of_memory", "1", Better.NEITHER),
    ),
    log_format=LogFormat(
        own=(
            Plan,
            MpiIo,
            MemoryFill,
            Measurement,
            ProcessTimes,
            Layout,
            PatternType,
            Loaded,
            LoadedTrial,
            Load,
            Stop,
            DataCheck,
        ),
        options="directory log scheduled-time partitions quick top-clusters dry-run types methods memory-per-process "
        "largest-chunk alignment cache-size space-limit hints individual-pointers agree-per-access check-all "
        "evict load victims load-file read-shift fill-memory idle-power keep watchdog seed",
        progress=Progress(planned=planned_patterns, done={Measurement: one, Loaded: one}),
    ),
    system_metric=MetricKind("b_eff_io_system", "MByte/s", Better.HIGHER),
    variants=of_kinds(LOADS, IMPACTS),
    rules={
        "scheduled_time": "too short",
        "memory_by_option": "memory set by option",
        "m_part": "other M_PART",
        "space_limit": "space limit reached",
        "overrun": "calls left out",
        "under_load": "measured under load",
    },
    cache_affected=frozenset({"cache_affected"}),
    forms={Form.SHORT: {"form": "quick"}, Form.REGULAR: {"form": "quick"}, Form.OFFICIAL: {"form": "official"}},
    together="system.together",
    nodes="slow_nodes.examination",
    moved_bytes="reduction.moved_bytes",
)
