# SPDX-License-Identifier: Apache-2.0
"""FTIO, the share of I/O in an out-of-core Fourier transform."""

from coffeecup.postprocess.benchmarks.benchmark import Benchmark, Better, Form, MetricKind
from coffeecup.postprocess.benchmarks.ftio.records import Layout, Measurement, Plan, ProcessTimes, Repetition, Start
from coffeecup.postprocess.logs.format import LogFormat, Progress


def planned_stages(plan: Plan) -> int:
    return plan.repetitions * len(plan.stages)


def stages(plan: Plan, repetition: Repetition) -> int:
    """The measurements of a repetition are written together when it is over."""
    return len(plan.stages)


BENCHMARK = Benchmark(
    package=__name__,
    title="FTIO",
    citation="F. C. Fagerstrom, C. L. Kuszmaul: The FTIO Benchmark.",
    metrics=(
        # The optional ones: an interval requires several repetitions, an exchange several processes, cycles a counter.
        MetricKind("io_fraction", "1", Better.LOWER, "I/O Fraction: share of I/O in the whole time"),
        MetricKind(
            "io_fraction_low", "1", Better.LOWER, "… 95 % interval of the mean over the runs, lower end", optional=True
        ),
        MetricKind("io_fraction_high", "1", Better.LOWER, "… upper end", optional=True),
        MetricKind("io_fraction_least_process", "1", Better.LOWER, "… of the process with the least I/O"),
        MetricKind(
            "io_fraction_of_transform",
            "1",
            Better.LOWER,
            "… of the transform alone, without initialisation and verification",
        ),
        MetricKind("mflops", "Mflop/s", Better.HIGHER, "nominal floating-point operations in the whole time"),
        MetricKind("mflops_in_fft", "Mflop/s", Better.HIGHER, "… in the time of the FFTs, with their communication"),
        MetricKind(
            "cycles_per_flop",
            "1",
            Better.LOWER,
            "cycles of the processors at work per nominal operation",
            optional=True,
        ),
        MetricKind(
            "time_stamp_cycles_per_flop",
            "1",
            Better.LOWER,
            "cycles of the time stamp counter, waiting included, per nominal operation",
            optional=True,
        ),
        MetricKind("initialise_write", "MByte/s", Better.HIGHER, "initialisation, write and flush"),
        MetricKind("series_read", "MByte/s", Better.HIGHER, "DFT series, read"),
        MetricKind("series_write", "MByte/s", Better.HIGHER, "DFT series, write and flush"),
        MetricKind("transpose_read", "MByte/s", Better.HIGHER, "transposition of Mini-Squares, read"),
        MetricKind("transpose_write", "MByte/s", Better.HIGHER, "transposition of Mini-Squares, write and flush"),
        MetricKind("exchange_read", "MByte/s", Better.HIGHER, "exchange of Squares, read", optional=True),
        MetricKind("exchange_write", "MByte/s", Better.HIGHER, "exchange of Squares, write and flush", optional=True),
        MetricKind("verify_read", "MByte/s", Better.HIGHER, "verification, read"),
        MetricKind(
            "exchange_between_processes",
            "MByte/s",
            Better.HIGHER,
            "exchange of Squares, between processes",
            optional=True,
        ),
        MetricKind(
            "largest_relative_difference", "1", Better.NEITHER, "largest relative difference to the exact result"
        ),
        MetricKind("matrix_size", "MiB", Better.NEITHER, "the matrix"),
        MetricKind("peak_resident", "MiB", Better.NEITHER, "most memory of a process"),
    ),
    log_format=LogFormat(
        own=(Plan, Start, Measurement, ProcessTimes, Layout, Repetition),
        options="log input directory storage direct repeat exchange-buffer idle-power hang-after keep",
        progress=Progress(planned=planned_stages, done={Repetition: stages}),
    ),
    rules={
        "one_process": "one process",
        "overcommitted": "too few cores",
        "cached": "fits in memory",
        "short_run": "too short",
    },
    cache_affected=frozenset({"cached", "memory_file_system"}),
    forms={
        Form.SHORT: {"input_parameter": "16MiB", "repetitions": "1"},
        # On two processes a million requests of each, so that a repetition takes 10 s on the fastest disk. With direct
        # I/O, the smallest matrix of 8 processes has 1 GiB, that of 128 has 256 GiB.
        Form.OFFICIAL: {"input_parameter": "1GiB", "direct": "yes", "most_per_node": "8"},
    },
)
