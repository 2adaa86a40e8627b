# SPDX-License-Identifier: Apache-2.0
"""Qualifications of a b_eff_io result: which of the paper's rules the run did not keep, and what else improves or
limits the result. They are shown beside the number everywhere."""

from collections.abc import Iterator, Sequence
from typing import cast

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io.definition import (
    CACHE_FACTOR,
    METHODS,
    OFFICIAL_SECONDS,
    TOP_CLUSTERS_SECONDS,
    TYPES,
    m_part_rule,
)
from coffeecup.postprocess.benchmarks.b_eff_io.library import door as library
from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement, PatternType, Plan
from coffeecup.postprocess.logs.hosts import of_hosts
from coffeecup.postprocess.logs.io_options import of_cache_size, of_memory_fill, of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.show.words import counted, digits, size

TIME_TOLERANCE = 0.05
AGREEMENT_SHARE = 0.02
CACHED_SHARE = 0.01


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The paper's rules that the run did not keep; a run without any is official. Rules on patterns and types are in
    rules.py, because a log that breaks them yields no score."""
    yield from library.breaches(log)
    yield from broken_rules_of_request(log)
    yield from broken_rules_of_measurement(log)


def broken_rules_of_request(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    run, plan = log.run, log.plan
    scheduled, partitions = plan.scheduled_seconds, len(plan.partitions)
    if plan.form == "top-clusters":
        if scheduled * partitions < TOP_CLUSTERS_SECONDS or partitions < 3:
            yield (
                "scheduled_time",
                f"{digits(scheduled * partitions)} s were scheduled for {counted(partitions, 'partition')}; the "
                f"Top Clusters form takes {digits(TOP_CLUSTERS_SECONDS)} s for three. The values are not valid "
                "for comparison",
            )
    elif scheduled < OFFICIAL_SECONDS:
        yield (
            "scheduled_time",
            f"{digits(scheduled)} s were scheduled for a partition, less than {digits(OFFICIAL_SECONDS)} s "
            "(15 minutes). The values are not valid for comparison",
        )
    if run.memory_source == "option":
        yield (
            "memory_by_option",
            f"the memory of a node ({size(plan.node_memory_bytes)}) was set by an option, not detected on the machine",
        )
    if plan.m_part_bytes != (rule := m_part_rule(plan.node_memory_bytes)):
        yield (
            "m_part",
            f"M_PART is {size(plan.m_part_bytes)} where the rule max(2 MiB, memory of a node / 128), at most 1 "
            f"GiB, gives {size(rule)}",
        )


def broken_rules_of_measurement(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    plan = log.plan
    if short := [r for r in log.all(Measurement) if r.ended_by == "space" and r.type in TYPES]:
        yield (
            "space_limit",
            f"{counted(len(short), 'pattern')} ended before their time, because the files may take no more than "
            f"{size(plan.space_limit_bytes)}",
        )
    if cut := [r for r in log.all(Measurement) if r.ended_by == "overrun" and r.type in TYPES]:
        yield (
            "overrun",
            f"{counted(len(cut), 'measurement')} of types 3 and 4 left out calls, because the run would have "
            "taken more than twice its scheduled time; run it on a machine that does nothing else, or schedule "
            "more time",
        )


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_variant(log)
    yield from of_cache(log, table)
    yield from (pair for pair in of_hosts(log) if pair[0] != "one_host")
    yield from of_time(log, table)
    yield from of_data(log.only(DataCheck), log.plan.check)


def of_variant(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    plan = log.plan
    if plan.form == "top-clusters":
        yield "top_clusters", "Top Clusters form: only type scatter was rewritten, so the value is that of release 2.1"
    if plan.file_pointers == "individual":
        yield (
            "individual_pointers",
            "Type shared was measured without shared file pointers, by the variant with individual pointers and "
            "a strided view: do not compare it with runs that used them",
        )
    if plan.termination == "per-access":
        yield (
            "per_access",
            "The processes agreed after every access, as in the original program: this slows down small chunks",
        )
    yield from of_hints(log.run, library.hinted(log))
    yield from of_read_shift(plan.read_shift)
    yield from of_memory_fill(log, "while files were read")


def of_hints(run: Run, to: str = "MPI-I/O") -> Iterator[tuple[str, str]]:
    """Hints, or a file of them, which a result has to state."""
    if hints := run.options["hints"]:
        yield "hints", f"Hints were given to {to}, by {hints}"


def of_cache(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Qualification by the paper's section 5.4: 95 % of the data went to disk only if 20 times the size of the cache
    was accessed."""
    accessed = table[table["averaged"]].groupby(["partition", "method"])["bytes"].sum()
    need = {partition: CACHE_FACTOR * cache_bytes(log, partition) for partition in log.plan.partitions}
    small = {
        method: [p for p in need if (p, method) in accessed.index and accessed[p, method] < need[p]]
        for method in METHODS
    }
    if affected := [method for method in METHODS if small[method]]:
        most = max(need)
        amounts = ", ".join(
            f"{size(int(accessed[most, method]))} {method}" for method in METHODS if (most, method) in accessed.index
        )
        yield (
            "cache_affected",
            f"Cache-affected: {' and '.join(affected)} accessed less than {CACHE_FACTOR} times the file system's "
            f"cache, so part of it went to memory and not to disk ({counted(most, 'process')}: {amounts}; needed "
            f"{size(need[most])} each)",
        )
    yield from of_cache_size(log)
    yield from of_eviction(log)


def of_eviction(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    read = [r for r in log.all(PatternType) if r.method == "read"]
    stayed = [r for r in read if r.cached_bytes is None or r.cached_bytes > CACHED_SHARE * r.file_bytes / r.files]
    if log.plan.evict:
        yield from of_evicted([r.type for r in stayed], len(read))


def of_evicted(stayed: Sequence[str], reads: int) -> Iterator[tuple[str, str]]:
    """`stayed` are the types of the files that stayed in a cache, of as many reads."""
    if stayed:
        yield (
            "not_evicted",
            f"Files were evicted from the nodes' caches before they were read, but those of {len(stayed)} of "
            f"{counted(reads, 'read')} stayed in a cache, at least in part ({', '.join(sorted(set(stayed)))}): these "
            "reads may come from memory",
        )
    else:
        yield (
            "evicted",
            "Files were evicted from the nodes' caches before they were read; caches of servers are not affected "
            "by that",
        )


def cache_bytes(log: Log[Plan], partition: int) -> int:
    """The size of the cache that an option states, otherwise the memory of the nodes of the partition's processes."""
    nodes = [host for host in log.run.hosts if min(host.ranks) < partition]
    return log.plan.cache_bytes or sum(host.memory_bytes for host in nodes)


def of_time(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    scheduled = log.plan.scheduled_seconds
    taken = (
        table[table["averaged"]]
        .drop_duplicates(["partition", "method", "type"])
        .groupby("partition")["type_seconds"]
        .sum()
    )
    if late := {
        partition: seconds for partition, seconds in taken.items() if seconds > (1 + TIME_TOLERANCE) * scheduled
    }:
        text = ", ".join(
            f"{counted(cast(int, partition), 'process')} {digits(seconds)} s" for partition, seconds in late.items()
        )
        yield "time_overrun", f"A partition took longer than the {digits(scheduled)} s that it is allowed: {text}"
    sums = table[table["averaged"]][["agreement_fastest_seconds", "elapsed_seconds"]].sum()
    share = sums["agreement_fastest_seconds"] / sums["elapsed_seconds"]
    if share > AGREEMENT_SHARE:
        yield (
            "agreement",
            f"{share:.1%} of the time was spent in agreements of the processes on when to stop, waiting for each other "
            "included",
        )
    stopped = table[table["averaged"] & (table["method"] != "write") & (table["ended_by"] == "time")]
    if len(stopped):
        yield (
            "not_all_accessed",
            f"{counted(len(stopped), 'pattern')} of rewrite and read reached the time limit before all data that "
            "was written had been accessed again",
        )


def of_data(check: DataCheck, which: str) -> Iterator[tuple[str, str]]:
    """`which` data was checked by plan."""
    if check.checked_bytes < check.read_bytes:
        yield (
            "partly_checked",
            f"{check.checked_bytes / check.read_bytes:.1%} of the bytes read were checked: those that "
            "every pattern read last; --check-all checks all",
        )
    elif which == "all":
        yield (
            "check_pauses",
            "Every byte was checked: the clock was stopped meanwhile, and the file system may have read ahead",
        )
