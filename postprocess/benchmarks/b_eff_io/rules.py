# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io: what a log must contain to yield a score. Here are those on the run and its plan, in passes.py
those on the measurements. Nothing is reduced here. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff_io.definition import (
    METHODS,
    OFFICIAL_SECONDS,
    QUICK_SECONDS,
    TOP_CLUSTERS_SECONDS,
    TYPE_RULES,
    TYPES,
    calls_in_buffer,
    default_partitions,
    m_part_rule,
    patterns_rule,
)
from coffeecup.postprocess.benchmarks.b_eff_io.passes import (
    expected_records,
    problems_of_measurements,
    problems_of_times,
    problems_of_types,
)
from coffeecup.postprocess.benchmarks.b_eff_io.records import (
    Layout,
    Measurement,
    PatternType,
    Plan,
    PlannedPattern,
    PlannedType,
    ProcessTimes,
)
from coffeecup.postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, MpiIo
from coffeecup.postprocess.logs.process_times import problems_of_resolution
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Overhead, Run
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Problem,
    problems_of_fields,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_reads,
    problems_of_records,
)

USABLE_SHARE = 0.9  # of the free space: the limit without an option


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_log(log, Overhead, DataCheck, MpiIo)
    yield from problems_of_file_system(log)
    yield from problems_of_plan(log.plan, log.run.ranks)
    yield from problems_of_read_shift(log, log.plan.read_shift, log.plan.partitions)
    yield from problems_of_memory_fill(log, log.plan.fill_memory_percent)
    if any(fill.sequence > log.only(DataCheck).sequence for fill in log.all(MemoryFill)):
        yield "memory_fill", f"the memory was released after the data check; {EDITED}"
    yield from problems_of_resolution(log.run, log.plan.process_times)
    yield from problems_of_request(log.run, log.plan)
    yield from problems_of_records(log, expected_records(log), Measurement, ProcessTimes, Layout, PatternType)
    yield from problems_of_measurements(log)
    yield from problems_of_types(log)
    yield from problems_of_times(log)
    yield from problems_of_data(log)


def problems_of_plan(plan: Plan, ranks: int) -> Iterator[Problem]:
    if missing := [name for name in METHODS if name not in plan.methods]:
        yield (
            "all_methods",
            f"the run left out {' and '.join(missing)}; run it with all access methods (the measurements can be "
            "plotted)",
        )
    names = [entry.name for entry in plan.types]
    if missing := [name for name in TYPES if name not in names]:
        yield (
            "all_types",
            f"the run left out the types {', '.join(missing)}; run it with all five (the measurements can be plotted)",
        )
    if max(plan.partitions) > ranks or plan.partitions != sorted(plan.partitions):
        yield "partitions", plan


def problems_of_request(run: Run, plan: Plan) -> Iterator[Problem]:
    """The options, as the kernel prints them, and the plan that follows from them."""
    yield from problems_of_options(
        run,
        {
            "quick": plan.form == "quick",
            "top-clusters": plan.form == "top-clusters",
            "types": [entry.name for entry in plan.types],
            "methods": plan.methods,
            "alignment": plan.alignment_bytes,
            "cache-size": plan.cache_bytes,
            "individual-pointers": plan.file_pointers == "individual",
            "agree-per-access": plan.termination == "per-access",
            "check-all": plan.check == "all",
            "evict": plan.evict,
            "dry-run": False,
        },
    )
    names, rows = [entry.name for entry in plan.types], enumerate(patterns_rule(plan.m_part_bytes))
    seconds = {"top-clusters": TOP_CLUSTERS_SECONDS, "quick": QUICK_SECONDS}.get(plan.form, 0) / len(plan.partitions)
    memory = run.options["memory-per-process"]
    nodes = [memory * len(host.ranks) if isinstance(memory, int) else host.memory_bytes for host in run.hosts]
    planned = {
        "methods": [*METHODS],
        "types": [
            PlannedType(name, number, rule.averaged, rule.collective, rule.separate)
            for number, (name, rule) in enumerate(TYPE_RULES.items())
            if name in names
        ],
        "patterns": [PlannedPattern(number, *row) for number, row in rows if row[0] in names],
        "partitions": partitions_asked_for(run),
        "scheduled_seconds": run.options["scheduled-time"] or seconds or OFFICIAL_SECONDS,
        "node_memory_bytes": min(nodes),
        "m_part_bytes": run.options["largest-chunk"] or m_part_rule(plan.node_memory_bytes),
        "space_limit_bytes": space_limit(run),
    }
    yield from problems_of_fields(plan, planned)


def partitions_asked_for(run: Run) -> list[int]:
    asked = run.options["partitions"]
    if asked is None:
        return default_partitions(run.ranks)
    parts = str(asked).split(",")
    return [run.ranks] if parts == ["all"] else [int(part) for part in parts if part.strip().isdecimal()]


def space_limit(run: Run) -> object:
    """The option, or the usable share of the free space."""
    return run.options["space-limit"] or int(USABLE_SHARE * float(run.tested_filesystem.free_bytes))


def problems_of_data(log: Log[Plan]) -> Iterator[Problem]:
    """Of a pattern, all that was read is checked, or what is still in the buffers."""
    reads = [record for record in log.all(Measurement) if record.method == "read"]
    together = sum(record.bytes for record in reads)
    kept = {record.sequence: calls_in_buffer(record.call_bytes) for record in reads}
    fewest, most = (
        sum(r.partition * r.call_bytes * min(count(r), kept[r.sequence]) for r in reads)
        for count in (lambda r: r.calls_min, lambda r: r.calls_max)
    )
    bounds = (together, together) if log.plan.check == "all" else (fewest, min(most, together))
    yield from problems_of_reads(log.only(DataCheck), together, *bounds)
