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
    problems_of_measurements,
    problems_of_times,
    problems_of_types,
)
from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement, Plan
from coffeecup.postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, MpiIo
from coffeecup.postprocess.logs.process_times import problems_of_resolution
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Overhead, Run
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Problem,
    first_problems,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_reads,
)

USABLE_SHARE = 0.9  # of the free space: the limit without an option
ROUNDING = 1e-9  # relative


def refusals(logs: list[Log[Plan]]) -> dict[int, str]:
    """Which logs yield no b_eff_io and why, by their index in `logs`."""
    return first_problems("b_eff_io", problems, logs)


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
    yield from problems_of_definition(log.plan)
    yield from problems_of_request(log.run, log.plan)
    yield from problems_of_sizes(log.run, log.plan)
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
    if max(plan.partitions) > ranks:
        yield "partitions", f"a partition has more processes than the run; {RUN_AGAIN}"
    if plan.partitions != sorted(plan.partitions):
        yield "partitions", f"the partitions are not in ascending order; {EDITED}"
    if tuple(plan.methods) != METHODS:
        yield "methods", f"the access methods are not {', '.join(METHODS)}, in this order; {EDITED}"


def problems_of_definition(plan: Plan) -> Iterator[Problem]:
    planned = [entry.name for entry in plan.types]
    table = [
        (name, number, rule.averaged, rule.collective, rule.separate)
        for number, (name, rule) in enumerate(TYPE_RULES.items())
        if name in planned
    ]
    if [(entry.name, entry.number, entry.averaged, entry.collective, entry.separate) for entry in plan.types] != table:
        yield "types", "the types, or what they are, differ from the paper's definition; upgrade or fix the kernel"
    rule = [(number, *row) for number, row in enumerate(patterns_rule(plan.m_part_bytes)) if row[0] in planned]
    if [(p.pattern, p.type, p.chunk_bytes, p.call_bytes, p.units) for p in plan.patterns] != rule:
        yield "patterns", "the patterns are not those of the paper's table 2; upgrade or fix the kernel"


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
    if plan.partitions != partitions_asked_for(run):
        yield "partitions", f"the partitions are not those of the options; {EDITED}"
    asked = run.options["scheduled-time"]
    scheduled = (
        asked
        or {
            "standard": OFFICIAL_SECONDS,
            "top-clusters": TOP_CLUSTERS_SECONDS / len(plan.partitions),
            "quick": QUICK_SECONDS / len(plan.partitions),
        }[plan.form]
    )
    if not isinstance(scheduled, int | float) or abs(plan.scheduled_seconds / scheduled - 1) > ROUNDING:
        yield "scheduled", f"{plan.scheduled_seconds:g} s are scheduled, by the options {scheduled!r:.40}; {EDITED}"


def partitions_asked_for(run: Run) -> list[int]:
    asked = run.options["partitions"]
    if asked is None:
        return default_partitions(run.ranks)
    parts = str(asked).split(",")
    return [run.ranks] if parts == ["all"] else [int(part) for part in parts if part.strip().isdecimal()]


def problems_of_sizes(run: Run, plan: Plan) -> Iterator[Problem]:
    memory = run.options["memory-per-process"]
    nodes = [memory * len(host.ranks) if isinstance(memory, int) else host.memory_bytes for host in run.hosts]
    if plan.node_memory_bytes != min(nodes):
        yield "node_memory", f"a node has {min(nodes)} bytes, the plan says {plan.node_memory_bytes}; {EDITED}"
    if plan.m_part_bytes != (run.options["largest-chunk"] or m_part_rule(plan.node_memory_bytes)):
        yield "m_part", f"M_PART is {plan.m_part_bytes} bytes, which is neither the rule's nor the option's; {EDITED}"
    yield from problems_of_space(run, plan.space_limit_bytes)


def problems_of_space(run: Run, limit_bytes: int) -> Iterator[Problem]:
    """The limit of space is the option, or follows from the free bytes."""
    free = run.tested_filesystem.free_bytes
    if limit_bytes != (run.options["space-limit"] or int(USABLE_SHARE * float(free))):
        yield "space_limit", f"the limit of space is not the option's or {USABLE_SHARE:.0%} of the free space; {EDITED}"


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
