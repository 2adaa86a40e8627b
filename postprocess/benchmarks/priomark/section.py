# SPDX-License-Identifier: Apache-2.0
"""PRIOMark's part of the report: the number in plain sentences, what enters it, and every case with its latencies."""

import pandas as pd

from coffeecup.postprocess.benchmarks.priomark import INCLUDED, metadata, reduction
from coffeecup.postprocess.benchmarks.priomark.qualifications import listed
from coffeecup.postprocess.benchmarks.priomark.records import Measurement, Plan
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, size

SHARES = (0.5, 0.95, 0.99, 0.999)


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    cases = reduction.case_table(table)
    return {
        "sentences": sentences(log, score, cases),
        "benchmarks": benchmarks(log, cases),
        "accesses": accesses(cases),
        "cases": case_rows(log, cases),
        "metadata": metadata.rows(log, SHARES),
        "published": published("priomark").to_dict("records"),
    }


def sentences(log: Log[Plan], score: Score, cases: pd.DataFrame) -> list[str]:
    """What the result means, for readers who do not know the benchmark."""
    ran = [entry.name for entry in log.plan.benchmarks if entry.name in INCLUDED]
    paragraph = [
        f"This workload gets {digits(score.headline[1].value, NARROW_SPACE)} million bytes per second from this "
        f"storage, {counted(log.run.ranks, 'process')} together: the mean of {listed(ran)}, each the mean of its "
        f"cases ({counted(len(cases), 'case')} in all)."
    ]
    if "acl" in score.metrics:
        losses = [score.metrics[name].value for name in ("acl", "abl")]
        paragraph.append(
            f"Input and output beside a calculation: the calculation loses {losses[0]:.0%} of its speed, the transfer "
            f"{losses[1]:.0%} of its bandwidth."
        )
    return paragraph


def benchmarks(log: Log[Plan], cases: pd.DataFrame) -> list[dict]:
    """A row per sub-benchmark: its value and its geometric mean in MByte/s, ACL and ABL if it has them."""
    values, geometric = (reduction.benchmark_values(cases, geometric=kind).droplevel("log") for kind in (False, True))
    grouped = cases.groupby("benchmark")
    losses = grouped[["acl", "abl"]].mean().to_dict("index")
    return [
        {
            "name": entry.name,
            "summary": entry.summary,
            "cases": int(grouped.size()[entry.name]),
            "value": values[entry.name],
            "geometric": geometric[entry.name],
            "losses": [None if pd.isna(loss) else loss for loss in losses[entry.name].values()],
        }
        for entry in log.plan.benchmarks
        if entry.name in INCLUDED
    ]


def accesses(cases: pd.DataFrame) -> dict:
    """A row per sub-benchmark and pattern, a column per method: mean bandwidths in MByte/s, None where there is
    none."""
    wide = cases.pivot_table(
        index=["benchmark", "pattern"], columns="method", values="bandwidth", aggfunc="mean", sort=False
    )
    return {
        "methods": list(wide.columns),
        "rows": [
            {"benchmark": key[0], "pattern": key[1], "values": [None if pd.isna(value) else value for value in row]}
            for key, (_, row) in zip(wide.index, wide.iterrows())
        ],
    }


def case_rows(log: Log[Plan], cases: pd.DataFrame) -> list[dict]:
    """A row per case and operation that took place: its description, MByte/s, and latencies in ms at SHARES and the
    longest."""
    found = {}
    for record in log.all(Measurement):
        for latencies in record.latencies:
            found.setdefault((record.case, latencies.operation), []).append(latencies)
    return [
        {
            "case": case.case,
            "benchmark": case.benchmark,
            "pattern": case.pattern,
            "method": case.method,
            "data": size(case.process_bytes),
            "block": "–" if pd.isna(case.block_bytes) else size(case.block_bytes),
            "share": None if pd.isna(case.read_share) else case.read_share,
            "bandwidth": case.bandwidth,
            "operation": operation,
            "latencies": [1e3 * percentile(found[case.case, operation], share) for share in SHARES]
            + [1e3 * max(latencies.longest_seconds for latencies in found[case.case, operation])]
            if operation
            else None,
        }
        for case in each_row(cases)
        for operation in [name for name in ("read", "write") if (case.case, name) in found] or [None]
    ]


def heading(log: Log[Plan]) -> str:
    """The title of the section."""
    system = log.run.filesystem.type if log.run.filesystem else ""
    return f"PRIOMark by {counted(log.run.ranks, 'process')}, {log.plan.workload}, {system}".rstrip(", ")


def plan(log: Log[Plan]) -> list[tuple[str, str]]:
    """Facts about the run for the report: name and text."""
    plan = log.plan
    checks = log.all(DataCheck)
    return [
        ("Workload", plan.workload),
        ("Sub-benchmarks", "; ".join(entry.name for entry in plan.benchmarks)),
        (
            "Loaded interfaces",
            "; ".join(
                f"{entry.name}: {entry.summary}{f' ({entry.properties})' if entry.properties else ''}, {entry.path}, "
                f"SHA-256 {entry.sha256}"
                for entry in plan.interfaces
            )
            or "none",
        ),
        (
            "Cases",
            f"{len(plan.cases)}, each measured {counted(plan.repetitions, 'time')}, random orders from seed "
            f"{plan.seed}",
        ),
        ("Build", {"full": "with MPI-IO", "mpi": "with MPI, without MPI-IO", "serial": "without MPI"}[plan.build]),
        (
            "MPI-IO",
            "; ".join(record.component or "not reported by the library" for record in log.all(MpiIo)) or "not used",
        ),
        ("Page cache", "files were taken out of it before a case began" if plan.evict else "as the run found it"),
        ("Latencies", f"relative error at most {plan.latency_relative_error:.2%}"),
        (
            "Data check",
            "; ".join(
                f"{size(check.checked_bytes)} of {size(check.read_bytes)} read were checked, "
                f"{counted(check.wrong_bytes, 'wrong byte')}"
                for check in checks
            )
            if plan.check
            else "none",
        ),
        ("Workload file", plan.workload_text),
    ]
