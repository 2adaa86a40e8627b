# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io: what a log must contain to yield a score. Here are those on the run and its plan, in passes.py
those on the measurements. Nothing is reduced here. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff_io import passes
from coffeecup.postprocess.benchmarks.b_eff_io.definition import (
    METHODS,
    OFFICIAL_SECONDS,
    QUICK_SECONDS,
    TOP_CLUSTERS_SECONDS,
    TYPE_RULES,
    calls_in_buffer,
    default_partitions,
    m_part_rule,
    patterns_rule,
)
from coffeecup.postprocess.benchmarks.b_eff_io.library import door as library
from coffeecup.postprocess.benchmarks.b_eff_io.records import (
    Measurement,
    PatternType,
    Plan,
    PlannedPattern,
    PlannedType,
)
from coffeecup.postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.process_times import problems_of_resolution
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.logs.rules import Problem, Rules, broken

NUMBERS = {3: "three", 5: "five"}
USABLE_SHARE = 0.9  # of the free space: the limit without an option


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    plan, names = log.plan, [entry.name for entry in log.plan.types]
    if missing := [name for name in METHODS if name not in plan.methods]:
        yield (
            "all_methods",
            f"the run left out {' and '.join(missing)}; run it with all access methods (the measurements can be "
            "plotted)",
        )
    averaged = library.averaged_types(log)
    if missing := [name for name in averaged if name not in names]:
        yield (
            "all_types",
            f"the run left out the types {', '.join(missing)}; run it with all {NUMBERS[len(averaged)]} (the "
            "measurements can be plotted)",
        )
    yield from library.problems_of_plan(log)
    fits = max(plan.partitions) <= log.run.ranks and plan.partitions == sorted(plan.partitions)
    yield from broken(plan, {"partitions": fits})
    yield from problems_of_read_shift(log, plan.partitions)
    yield from problems_of_memory_fill(log, after_check=False)
    yield from problems_of_resolution(log.run, plan.process_times)


def options(log: Log[Plan]) -> dict[str, object]:
    """As the kernel prints them."""
    plan = log.plan
    return {
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
    }


def planned(log: Log[Plan]) -> dict[str, object]:
    """What follows from the options, the hosts and the definition."""
    run, plan = log.run, log.plan
    names, rows = [entry.name for entry in plan.types], enumerate(patterns_rule(plan.m_part_bytes))
    seconds = {"top-clusters": TOP_CLUSTERS_SECONDS, "quick": QUICK_SECONDS}.get(plan.form, 0) / len(plan.partitions)
    memory = run.options["memory-per-process"]
    nodes = [memory * len(host.ranks) if isinstance(memory, int) else host.memory_bytes for host in run.hosts]
    return {
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


def partitions_asked_for(run: Run) -> list[int]:
    asked = run.options["partitions"]
    if asked is None:
        return default_partitions(run.ranks)
    parts = str(asked).split(",")
    return [run.ranks] if parts == ["all"] else [int(part) for part in parts if part.strip().isdecimal()]


def space_limit(run: Run) -> object:
    """The option, or the usable share of the free space."""
    return run.options["space-limit"] or int(USABLE_SHARE * float(run.tested_filesystem.free_bytes))


def reads(log: Log[Plan]) -> tuple[int, int, int]:
    """Of a pattern, all that was read is checked, or what is still in the buffers."""
    measured = [record for record in log.all(Measurement) if record.method == "read"]
    together = sum(record.bytes for record in measured)
    if log.plan.check == "all":
        return together, together, together
    fewest, most = (
        sum(r.partition * r.call_bytes * min(count(r), calls_in_buffer(r.call_bytes)) for r in measured)
        for count in (lambda r: r.calls_min, lambda r: r.calls_max)
    )
    return together, fewest, min(most, together)


problems = Rules(
    single=(DataCheck, MpiIo),
    of_plan=problems_of_plan,
    planned=planned,
    options=options,
    measured=passes.RECORDS,
    expected=passes.expected_records,
    together=passes.problems_of_measurements,
    seconds=lambda log: sum(record.elapsed_seconds for record in log.all(PatternType)),
    reads=reads,
).problems
