# SPDX-License-Identifier: Apache-2.0
"""b_eff_io, the effective bandwidth of parallel I/O."""

from coffeecup.postprocess.benchmarks.b_eff_io import library
from coffeecup.postprocess.benchmarks.b_eff_io.records import Layout, Measurement, PatternType, Plan, ProcessTimes
from coffeecup.postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from coffeecup.postprocess.logs.format import LogFormat, Progress, one
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, MpiIo


def planned_patterns(plan: Plan) -> int:
    return len(plan.partitions) * len(plan.methods) * len(plan.patterns)


BENCHMARK = Benchmark(
    package=__name__,
    title="b_eff_io",
    citation="R. Rabenseifner, A. E. Koniges: The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and "
    "b_eff_io.",
    metrics=(
        # The optional ones are missing from the Top Clusters form.
        MetricKind(
            "b_eff_io",
            "MByte/s",
            Better.HIGHER,
            "b_eff_io, the system's value by the paper's definition (release 1.x)",
            optional=True,
        ),
        MetricKind("b_eff_io_2_1", "MByte/s", Better.HIGHER, "… by the definition of release 2.1"),
        MetricKind("b_eff_io_0_5", "MByte/s", Better.HIGHER, "… by the definition of release 0.5", optional=True),
        MetricKind("write", "MByte/s", Better.HIGHER, "initial write, mean over the types"),
        MetricKind("rewrite", "MByte/s", Better.HIGHER, "rewrite, mean over the types", optional=True),
        MetricKind("read", "MByte/s", Better.HIGHER, "read, mean over the types"),
        MetricKind("scatter", "MByte/s", Better.HIGHER, "type 0, strided, scattered from memory, collective"),
        MetricKind(
            "shared", "MByte/s", Better.HIGHER, "type 1, strided by a shared file pointer, collective", optional=True
        ),
        MetricKind("separate", "MByte/s", Better.HIGHER, "type 2, separate files", optional=True),
        MetricKind("segmented", "MByte/s", Better.HIGHER, "type 3, segmented file", optional=True),
        MetricKind(
            "segmented_collective", "MByte/s", Better.HIGHER, "type 4, segmented file, collective", optional=True
        ),
        MetricKind("best_partition", "processes", Better.NEITHER, "partition of these values"),
        MetricKind("memory_write_time", "min", Better.LOWER, "coffee-cup rule: time to write the nodes' memory"),
        MetricKind("memory_read_time", "min", Better.LOWER, "… to read it"),
        MetricKind("written_share_of_memory", "1", Better.NEITHER, "amount written, as a share of the nodes' memory"),
    ),
    log_format=LogFormat(
        own=(Plan, MpiIo, MemoryFill, Measurement, ProcessTimes, Layout, PatternType, DataCheck),
        options="directory log scheduled-time partitions quick top-clusters dry-run types methods memory-per-process "
        "largest-chunk alignment cache-size space-limit hints individual-pointers agree-per-access check-all "
        f"evict read-shift fill-memory {library.OPTION} idle-power keep hang-after seed",
        progress=Progress(planned=planned_patterns, done={Measurement: one}),
    ),
    uses=library.USES,
    variants=library.METRICS,
    system_metric=MetricKind("b_eff_io_system", "MByte/s", Better.HIGHER),
    rules={
        "scheduled_time": "too short",
        "memory_by_option": "memory set by option",
        "m_part": "other M_PART",
        "space_limit": "space limit reached",
        "overrun": "calls left out",
        **library.RULES,
    },
    cache_affected=frozenset({"cache_affected"}),
    forms={Form.SHORT: {"form": "quick"}, Form.REGULAR: {"form": "quick"}, Form.OFFICIAL: {"form": "official"}},
)
