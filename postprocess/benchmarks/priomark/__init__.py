# SPDX-License-Identifier: Apache-2.0
"""PRIOMark, the I/O bandwidth of a workload."""

from coffeecup.postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from coffeecup.postprocess.benchmarks.priomark.records import (
    OPERATIONS,
    Layout,
    Measurement,
    Metadata,
    Plan,
    ProcessTimes,
)
from coffeecup.postprocess.logs.format import LogFormat, Progress, one
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, MpiIo

# The sub-benchmarks of the paper's section 4.1, in its order.
PAPER = {
    "common_file": "one file, a range of blocks for each process",
    "strided": "one file, separate blocks of each process",
    "async": "beside a calculation",
    "single_file": "a file for each process",
    "raw": "a device without the page cache",
}
INCLUDED = PAPER | {"trace": "recorded requests"}
METADATA = "metadata"  # beside them: it moves no data that would have a bandwidth
PERCENTILES = {"median": 0.5, "p99": 0.99}
NO_LONGER = "99 % take no longer"
# What the metric of a loaded interface counts.
FIGURES = {
    "bandwidth": MetricKind("_bandwidth", "MByte/s", Better.HIGHER, "bandwidth of a loaded interface", optional=True),
    "rate": MetricKind("_rate", "operations/s", Better.HIGHER, "rate of a loaded interface", optional=True),
    "latency": MetricKind("_latency", "ms", Better.LOWER, "latency of a loaded interface", optional=True),
}


def planned_cases(plan: Plan) -> int:
    return plan.repetitions * len(plan.cases)


BENCHMARK = Benchmark(
    package=__name__,
    title="PRIOMark",
    citation="M. Krietemeyer, D. Versick, D. Tavangarian: The PRIOMark Parallel I/O-Benchmark.",
    metrics=(
        # Which sub-benchmarks run, and so all that is optional, depends on the workload.
        MetricKind("total", "MByte/s", Better.HIGHER, "total: mean over the sub-benchmarks that ran"),
        MetricKind("total_per_process", "MByte/s", Better.HIGHER, "… per process"),
        MetricKind("total_geometric", "MByte/s", Better.HIGHER, "… as a geometric mean"),
        *(
            MetricKind(name, "MByte/s", Better.HIGHER, f"{name}: {what}", optional=True)
            for name, what in INCLUDED.items()
        ),
        MetricKind("acl", "1", Better.LOWER, "asynchronous calculation loss (ACL)", optional=True),
        MetricKind("abl", "1", Better.LOWER, "asynchronous bandwidth loss (ABL)", optional=True),
        *(
            MetricKind(
                f"{operation}_latency_{name}", "ms", Better.LOWER, f"time of a {operation}, {text}", optional=True
            )
            for operation in ("read", "write")
            for name, text in zip(PERCENTILES, ("median", NO_LONGER), strict=True)
        ),
        MetricKind(
            METADATA,
            "operations/s",
            Better.HIGHER,
            "metadata: operations on small files, geometric mean",
            optional=True,
        ),
        *(
            MetricKind(f"{METADATA}_{name}", "operations/s", Better.HIGHER, f"… {name}", optional=True)
            for name in OPERATIONS
        ),
        *(
            MetricKind(
                f"{METADATA}_{name}_latency_p99", "ms", Better.LOWER, f"time of a {name}, {NO_LONGER}", optional=True
            )
            for name in OPERATIONS
        ),
    ),
    suffixed_metrics=tuple(FIGURES.values()),
    log_format=LogFormat(
        own=(Plan, MpiIo, MemoryFill, Measurement, ProcessTimes, Layout, Metadata, DataCheck),
        options="log workload directory only interfaces cache-size read-shift fill-memory dry-run idle-power "
        "hang-after keep",
        progress=Progress(planned=planned_cases, done={Measurement: one, Metadata: one}),
    ),
    rules={"workload": "other workload", "left_out": "sub-benchmarks left out"},
    # Not `cached_writes`: it concerns latencies, and bandwidths include the time until the data was written out.
    cache_affected=frozenset({"cache_affected"}),
    forms={
        Form.PROBE: {"workload": "probe", "time_limit": "5m"},
        Form.SHORT: {"workload": "short", "time_limit": "10m"},
    },
)
