# SPDX-License-Identifier: Apache-2.0
"""The sub-benchmark `metadata`: rates and latencies of operations on small files. The paper has none, so its values do
not enter the paper's total. docs/priomark_metadata.md defines them."""

from collections.abc import Iterator

import numpy as np

from coffeecup.postprocess.benchmarks.priomark import METADATA
from coffeecup.postprocess.benchmarks.priomark.records import OPERATIONS, Case, Metadata, OperationTimes, Plan
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Expected, Problem, broken
from coffeecup.postprocess.show.words import digits, size
from coffeecup.postprocess.statistics.means import bootstrap_interval

SHARED_DIRECTORY, OWN_TREE = "shared-directory", "own-tree"
FILES_OF_A_DIRECTORY = 100  # of a tree


def expected(case: Case, repetitions: int) -> Iterator[Expected]:
    """The records of a case."""
    return (Expected(Metadata, (case.case, repetition)) for repetition in range(1, repetitions + 1))


def read_bytes(log: Log[Plan]) -> int:
    """What all processes read: each file once."""
    return sum(log.run.ranks * case_of(log, record).process_bytes for record in log.all(Metadata))


def seconds(log: Log[Plan]) -> float:
    """Of all operations, by the slowest process in each."""
    return sum(times.elapsed_seconds for record in log.all(Metadata) for times in record.operations)


def case_of(log: Log[Plan], record: Metadata) -> Case:
    return log.plan.cases[record.case - 1]


def problems_of_metadata(log: Log[Plan], record: Metadata) -> Iterator[Problem]:
    """Each process accesses each of its files once, and lists each of its directories once."""
    ranks, case = log.run.ranks, case_of(log, record)
    of_process = case.process_bytes // (case.block_bytes or case.process_bytes)
    files, lists = ranks * of_process, ranks
    entries = ranks * files if case.pattern == SHARED_DIRECTORY else files
    if case.pattern == OWN_TREE:
        lists = ranks * -(-of_process // FILES_OF_A_DIRECTORY)
    counts = dict.fromkeys(OPERATIONS, files) | {"readdir": entries}
    first = next(other for other in log.all(Metadata) if other.case == record.case)
    kept = {
        "operations": [(times.operation, times.count) for times in record.operations] == [*counts.items()],
        "synchronised": record.synchronised == first.synchronised,
    }
    yield from broken(record, kept)
    for times in record.operations:
        calls = lists if times.operation == "readdir" else files
        yield from problems_of_histogram(times, calls, log.plan.latency_relative_error, record)
        yield from broken(record, {"operation_times": has_sound_times(times, ranks)})


def has_sound_times(times: OperationTimes, ranks: int) -> bool:
    """No process takes longer than the slowest one, nor do its calls."""
    whole = times.elapsed_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    return max(times.fastest_seconds, times.longest_seconds, times.sum_seconds / ranks) <= whole


def metadata_metrics(log: Log[Plan]) -> dict[str, float]:
    """Rates in operations/s of all processes, means over cases and repetitions; `metadata` is their geometric mean,
    because they differ by orders of magnitude. Latencies in ms that 99 % of all calls do not exceed. Empty without such
    cases."""
    found = {name: times_of(log.all(Metadata), name) for name in OPERATIONS if log.all(Metadata)}
    if not found:
        return {}
    rates = {f"{METADATA}_{name}": float(np.mean(rates_of(times))) for name, times in found.items()}
    latencies = {f"{METADATA}_{name}_latency_p99": 1e3 * percentile(times, 0.99) for name, times in found.items()}
    return {METADATA: float(np.exp(np.mean(np.log([*rates.values()]))))} | rates | latencies


def times_of(records: list[Metadata], operation: str) -> list[OperationTimes]:
    place = OPERATIONS.index(operation)
    return [record.operations[place] for record in records]


def rates_of(times: list[OperationTimes]) -> np.ndarray:
    """In operations/s."""
    return np.array([one.count / one.elapsed_seconds for one in times])


def interval(rates: np.ndarray) -> str:
    """Of their mean, in words."""
    low, high = bootstrap_interval(rates)
    return "–" if np.isnan(low) else f"{digits(low)} to {digits(high)}"


def rows(log: Log[Plan], shares: tuple[float, ...]) -> list[dict]:
    """A row per case and operation for the report: its rate in operations/s with the interval of the mean over the
    repetitions, if they are at least three, and latencies in ms at these shares and the longest."""
    cases = {record.case: case_of(log, record) for record in log.all(Metadata)}
    return [
        {
            "pattern": case.pattern,
            "files": case.process_bytes // (case.block_bytes or case.process_bytes),
            "size": size(case.block_bytes or case.process_bytes),
            "operation": operation,
            "rate": float(np.mean(rates_of(times))),
            "interval": interval(rates_of(times)),
            "latencies": [1e3 * percentile(times, share) for share in shares]
            + [1e3 * max(one.longest_seconds for one in times)],
        }
        for number, case in cases.items()
        for operation in OPERATIONS
        for times in [times_of([record for record in log.all(Metadata) if record.case == number], operation)]
    ]


def qualifications(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """Where caches may have answered."""
    if not log.all(Metadata):
        return
    whose = {None: "that it created", "process": "that another process of its node created"}
    if log.plan.read_shift in whose:
        yield (
            "metadata_cached",
            f"In metadata, each process accessed the files {whose[log.plan.read_shift]}, so caches of the node may "
            "have answered; --read-shift on several nodes avoids that",
        )
    if not all(record.synchronised for record in log.all(Metadata)):
        yield (
            "metadata_unsynchronised",
            "In metadata, files were not synchronised when they were created: storage may not have had them yet",
        )
