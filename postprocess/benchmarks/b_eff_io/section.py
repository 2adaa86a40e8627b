# SPDX-License-Identifier: Apache-2.0
"""b_eff_io's part of the report: the number in plain sentences, its parts, where the time went, and the systems of the
papers to compare with."""

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io import reduction
from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPES
from coffeecup.postprocess.benchmarks.b_eff_io.figures import TITLES
from coffeecup.postprocess.benchmarks.b_eff_io.library import door
from coffeecup.postprocess.benchmarks.b_eff_io.records import PatternType, Plan
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, seconds, size

COFFEE_CUP_MINUTES = 10
# What the papers published, and what a run has of it.
PUBLISHED = {
    "b_eff_io": "b_eff_io, release 1.x",
    "b_eff_io_other_release": "b_eff_io, another release",
    "b_eff_io_0_5": "b_eff_io, release 0.5",
    "read_over_write": "read / initial write",
    "read_over_rewrite": "read / rewrite",
    "data_of_a_method": "data of an access method",
    "largest_read": "largest bandwidth of reads",
    "largest_write": "largest bandwidth of writes",
}


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    values = {name: metric.value for name, metric in score.metrics.items()}
    return {
        "sentences": door.sentences(log, score) or sentences(log, score, values),
        "flawless": ", and accessed enough data to defeat the caches",
        "methods": TITLES,
        "published": compared_with_published(score.log.run.ranks, values),
        "partitions": partitions(table),
        "types": types(table),
        "patterns": patterns(log, table),
        "node_memory": size(log.plan.node_memory_bytes),
    }


def sentences(log: Log[Plan], score: Score, values: dict[str, float]) -> list[str]:
    processes = int(values["best_partition"])
    memory = size(sum(host.memory_bytes for host in log.run.hosts))
    slower = max(values["memory_write_time"], values["memory_read_time"])
    kept = slower <= COFFEE_CUP_MINUTES
    return [
        f"Applications with typical access patterns get {digits(score.headline[1].value, NARROW_SPACE)} million bytes "
        f"per second from this file system, {counted(processes, 'process')} together, averaged over initial write, "
        "rewrite and read, five ways of laying data into files, and chunks from 1 KiB up.",
        f"Coffee-cup rule {'kept' if kept else 'not kept'}: at this rate the memory of the run's nodes, {memory}, is "
        f"written in {digits(values['memory_write_time'])} min and read in {digits(values['memory_read_time'])} min; "
        f"a balanced system takes about {COFFEE_CUP_MINUTES} min.",
    ]


def compared_with_published(ranks: int, values: dict[str, float]) -> list[dict]:
    """The published values, each kind after that of this run, of which `system` is empty; none without any of this
    run."""
    own = values | {
        f"read_over_{method}": values["read"] / values[method] for method in ("write", "rewrite") if method in values
    }
    if not own.keys() & PUBLISHED.keys():
        return []
    printed, rows = dict(list(published("b_eff_io").groupby("metric"))), []
    for metric, quantity in PUBLISHED.items():
        of_systems = printed[metric].to_dict("records")
        if metric in own:
            of_systems.insert(0, of_systems[0] | {"system": "", "processes": ranks, "value": own[metric], "note": ""})
        rows += [row | {"quantity": quantity} for row in of_systems]
    return rows


def partitions(table: pd.DataFrame) -> list[dict]:
    """A row per partition with a value: its values and access methods, in MByte/s; None where the form does not define
    one."""
    values = reduction.partition_values(table).dropna(how="all").droplevel("log").reset_index()
    return values.astype(object).where(values.notna(), None).to_dict("records")


def types(table: pd.DataFrame) -> list[dict]:
    """A row per partition, access method and type: MByte/s, bytes, and the shares of its time in % (of the slowest
    process each)."""
    groups = table.groupby(["partition", "method", "type"], sort=False)
    sums = groups[["bytes", "access_seconds", "sync_seconds", "agreement_fastest_seconds", "elapsed_seconds"]].sum()
    whole = groups["type_seconds"].first()
    return [
        {
            "partition": partition,
            "method": TITLES[method],
            "type": name,
            "bytes": int(row["bytes"]),
            "seconds": whole[key],
            "bandwidth": row["bytes"] / whole[key] / MBYTE,
            "shares": [
                row[part] / whole[key] for part in ("access_seconds", "sync_seconds", "agreement_fastest_seconds")
            ]
            + [1 - row["elapsed_seconds"] / whole[key]],
        }
        for key, (_, row) in zip(sums.index, sums.iterrows())
        for partition, method, name in [key]
    ]


def patterns(log: Log[Plan], table: pd.DataFrame) -> list[dict]:
    """A row per partition and pattern: bandwidths of the access methods in MByte/s, and what a node of the partition
    wrote in the initial write, M(n, T, U) in the papers: of all processes, divided by the partition's nodes."""
    calls = {entry.pattern: entry.call_bytes for entry in log.plan.patterns}
    wide = table.pivot(index=["partition", "pattern"], columns="method", values="bandwidth").reindex(
        columns=list(METHODS)
    )
    properties = table.drop_duplicates(["partition", "pattern"]).set_index(["partition", "pattern"])
    chunks = properties["chunk_bytes"]
    written = table.query("method == 'write'").set_index(["partition", "pattern"])["bytes"]
    nodes = {n: sum(min(host.ranks) < n for host in log.run.hosts) for n in log.plan.partitions}
    return [
        {
            "partition": partition,
            "pattern": number,
            "type": properties.loc[key, "type"],
            "chunk": size(chunks[key]),
            "call": size(calls[number] or chunks[key]),
            "units": properties.loc[key, "units"],
            "node": size(written[key] // nodes[partition]) if key in written.index else "–",
            "bandwidths": [None if pd.isna(row[method]) else row[method] for method in METHODS],
        }
        for key, (_, row) in zip(wide.index, wide.iterrows())
        for partition, number in [key]
    ]


def of_check(log: Log) -> str:
    """How much of the data that was read was checked, and how many bytes were wrong."""
    checks = [
        f"{check.checked_bytes / check.read_bytes:.1%} of {size(check.read_bytes)} read were checked, "
        f"{counted(check.wrong_bytes, 'wrong byte')}"
        for check in log.all(DataCheck)
        if check.read_bytes
    ]
    return "; ".join(checks) or "none"


def of_component(log: Log) -> str:
    """The component of the MPI library that did the I/O."""
    components = [record.component or "not reported by the library" for record in log.all(MpiIo)]
    return "; ".join(components) or "not reported"


def heading(log: Log[Plan]) -> str:
    """The title of the section."""
    sizes, system = ", ".join(map(str, log.plan.partitions)), log.run.filesystem.type if log.run.filesystem else ""
    return f"{door.title(log) or 'b_eff_io'} by {sizes} process{'es' * (sizes != '1')}, {system}".rstrip(", ")


def plan(log: Log[Plan]) -> list[tuple[str, str]]:
    """Facts about the run for the report: name and text."""
    plan = log.plan
    given = {name: value for record in log.all(PatternType)[:1] for name, value in record.hints.items()}
    return [
        ("Form", {"standard": "the paper's", "top-clusters": "Top Clusters", "quick": "quick"}[plan.form]),
        (
            "Scheduled time",
            f"{seconds(plan.scheduled_seconds)} for each of {counted(len(plan.partitions), 'partition')}",
        ),
        ("Chunks", f"M_PART is {size(plan.m_part_bytes)}; segments begin at multiples of {size(plan.alignment_bytes)}"),
        (
            "Patterns",
            f"{len(plan.patterns)}, {sum(entry.type in TYPES for entry in plan.patterns)} of them of b_eff_io",
        ),
        ("MPI-I/O", f"{of_component(log)}; type shared with {plan.file_pointers} file pointers"),
        (
            "Hints in effect",
            "; ".join(f"{name} = {value}" for name, value in given.items()) or "none reported by the library",
        ),
        (
            "Termination",
            "agreements after batches of calls that grow"
            if plan.termination == "geometric"
            else "an agreement after every access",
        ),
        ("Space", f"at most {size(plan.space_limit_bytes)} for all files"),
        ("Data check", of_check(log)),
    ]
