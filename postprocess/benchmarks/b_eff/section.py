# SPDX-License-Identifier: Apache-2.0
"""b_eff's part of the report: the number in plain sentences, its parts, and the paper's Table 1 to compare with."""

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff import reduction
from coffeecup.postprocess.benchmarks.b_eff.definition import ONE_RING
from coffeecup.postprocess.benchmarks.b_eff.doors import View
from coffeecup.postprocess.benchmarks.b_eff.figures import METHODS, best_by_pattern, rings_text
from coffeecup.postprocess.benchmarks.b_eff.parts import checks, doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Plan, PlannedLoops
from coffeecup.postprocess.benchmarks.b_eff.reduction import values_in
from coffeecup.postprocess.benchmarks.published import published_systems
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.placement import number_stated
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, seconds, size

COLLECTIVE = ("alltoallv", "neighbor")
TABLE_1 = (
    "b_eff",
    "b_eff_per_process",
    "l_max",
    "ping_pong_bandwidth",
    "b_eff_at_l_max",
    "b_eff_at_l_max_per_process",
    "b_eff_at_l_max_rings_per_process",
    "time_to_communicate_total_memory",
)


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    split = [(view, table[table["view"] == view.suffix], values_in(score, view.suffix)) for view in views(log)]
    best = [(view, reduction.best_bandwidth(rows)) for view, rows, _ in split]
    parts = [values for door in doors().values() if (values := door.section(log, score))]
    published = published_systems("b_eff").replace({np.nan: None}).to_dict("records")
    return {
        "sentences": [*(text for view, _, values in split for text in sentences(view, values)), *balance(log)],
        "flawless": ", had the cores to itself, stayed in its time budget, and every byte received was checked",
        "table_1": TABLE_1,
        "published": published,
        "modelled": next(
            (row for row in published if (row["system"], row["processes"]) == (score.simulated_machine, log.run.ranks)),
            None,
        ),
        "own": {view.words: values for view, _, values in split},
        "groups": {
            f"placement{view.suffix}": groups(own) | {"meaning": meaning_of_ratio(view.log)} for view, own in best
        },
        "inside": [f"{check.sentence}." for view, rows, _ in split for check in checks(view, rows)],
        "methods": [method for method in METHODS if method in {method.name for method in log.plan.methods}],
        "grids": [row | {"view": view.name} for view, rows, _ in split for row in grids(view.log, rows)],
        "patterns": [row | {"view": view.name} for view, rows, _ in split for row in patterns(view.log, rows)],
        "parts": parts,
    }


def sentences(view: View, values: dict[str, float]) -> list[str]:
    run, plan = view.log.run, view.log.plan
    where = f" in {view.words}" if view.words else ""
    return [
        f"While all {run.ranks} processes communicated{where} at the same time, "
        f"{digits(values['b_eff'], NARROW_SPACE)} million bytes per second arrived, "
        f"{digits(values['b_eff_per_process'], NARROW_SPACE)} million for each process. This is the average over "
        f"message lengths from 1 byte to {size(plan.l_max_bytes)}, over neighbours in rings and over neighbours at "
        "random.",
        f"At this rate the total {view.words or 'memory'} of {size(run.ranks * run.memory_per_process_bytes)} would be "
        f"communicated in {seconds(values['time_to_communicate_total_memory'])}.",
        *odd_processes(run.ranks, values),
    ]


def balance(log: Log[Plan]) -> list[str]:
    """Where the balance factor comes from, if there is one."""
    if not (of_node := number_stated(log.run, "r_max_per_node")):
        return []
    return [
        f"The balance factor takes R_max from the configuration of the partition: {digits(of_node)} Gflop/s a node, on "
        f"{counted(len(log.run.hosts), 'node')}."
    ]


def odd_processes(processes: int, values: dict[str, float]) -> list[str]:
    """The difference between the paper's formula and that of the original program, if there is one."""
    if processes % 2 == 0:
        return []
    return [
        "On an odd number of processes the first ring pattern has a ring of three beside rings of two, whose "
        "processes send half as many messages in the same time. Release 3.6 of the original program would report "
        f"{digits(values['b_eff_release_3_6'], NARROW_SPACE)} MByte/s: compare that value, or b_eff on even numbers "
        "of processes, with other numbers of processes."
    ]


def groups(best: pd.Series) -> dict[str, dict]:
    """Ring and random patterns: averages in MByte/s over the lengths and at L_max, and the ratio of random order to
    rings."""
    mean, at_l_max = (
        frame.droplevel("log").to_dict()
        for frame in (reduction.group_bandwidth(best), reduction.group_bandwidth_at_l_max(best))
    )
    return {
        "mean": mean | {"ratio": mean["random"] / mean["ring"]},
        "at_l_max": at_l_max | {"ratio": at_l_max["random"] / at_l_max["ring"]},
    }


def meaning_of_ratio(log: Log[Plan]) -> str:
    """What random order over rings shows on these processes and nodes."""
    if log.run.ranks <= ONE_RING:
        return f"On {counted(log.run.ranks, 'process')} all patterns are the same messages: the ratio shows only noise."
    if len(log.run.hosts) == 1:
        return "All processes ran on one node: the ratio shows nothing about a network or the placement on nodes."
    return "A ratio well below 1 means that the placement of processes matters on this machine."


def grids(log: Log[Plan], table: pd.DataFrame) -> list[dict]:
    """A row per Cartesian pattern: the mean over the lengths in MByte/s of each method that measured all of them, and
    the best collective method over the best other one, which the paper measures these patterns for (section 2.1)."""
    of_grids = table[table["group"].isin(["cartesian_2d", "cartesian_3d"])]
    best = of_grids.groupby(["pattern", "method", "message_bytes"], observed=True)["bandwidth"].max().unstack()
    means = best.reindex(columns=log.plan.message_bytes).mean(axis="columns", skipna=False).unstack()
    rows = []
    for pattern in log.plan.patterns:
        if pattern.name in means.index:
            values = means.loc[pattern.name].dropna().to_dict()
            sides = [[values[m] for m in values if (m in COLLECTIVE) == side] for side in (True, False)]
            ratio = max(sides[0]) / max(sides[1]) if all(sides) else None
            rows.append({"name": pattern.name, "values": values, "ratio": ratio})
    return rows


def patterns(log: Log[Plan], table: pd.DataFrame) -> list[dict]:
    """A row per pattern: its rings, its mean over the lengths, its bandwidth at L_max, both in MByte/s; in the order of
    measuring."""
    reported = [pattern.name for pattern in log.plan.patterns if not pattern.averaged]
    best = best_by_pattern(table[table["averaged"] | table["pattern"].isin(reported)])
    mean = best.groupby("pattern", observed=True)["mbyte_per_second"].mean()
    longest = best.sort_values("message_bytes").groupby("pattern", observed=True)["mbyte_per_second"].last()
    return [
        {
            "name": pattern.name,
            "rings": rings_text(pattern.rings),
            "averaged": pattern.averaged,
            "processes": pattern.processes,
            "mean": mean[pattern.name],
            "at_l_max": longest[pattern.name],
        }
        for pattern in log.plan.patterns
        if pattern.name in mean.index
    ]


def heading(log: Log[PlannedLoops]) -> str:
    """The title of the section."""
    return f"{log.benchmark} on {counted(log.run.ranks, 'process')}, {counted(len(log.run.hosts), 'host')}"


def plan(log: Log[PlannedLoops]) -> list[tuple[str, str]]:
    """What was planned and checked: rows of a name and its value."""
    plan = log.plan
    averaged = ", ".join(method.name for method in plan.methods if method.averaged)
    others = ", ".join(method.name for method in plan.methods if not method.averaged)
    checks = [
        f"{check.checked_bytes / check.received_bytes:.1%} of {size(check.received_bytes)} received were checked, "
        f"{counted(check.wrong_bytes, 'wrong byte')}"
        for check in log.all(DataCheck)
        if check.received_bytes
    ]
    return [
        (
            "Message lengths",
            f"{len(plan.message_bytes)}, from {size(plan.message_bytes[0])} to {size(plan.l_max_bytes)}",
        ),
        ("Repetitions", f"{plan.repetitions} of each measurement; first loop of {plan.first_loop_length} exchanges"),
        ("Methods", f"averaged: {averaged or 'none'}; reported only: {others or 'none'}"),
        (
            "Patterns",
            f"{len(plan.patterns)}, {sum(pattern.averaged for pattern in plan.patterns)} of them averaged; seed of "
            f"the random patterns {plan.seed}",
        ),
        ("Buffers", f"messages walk through {size(plan.buffer_bytes)}, so that they do not come from a cache"),
        ("Time budget", seconds(plan.time_budget_seconds)),
        ("Data check", "; ".join(checks) or "none"),
    ]
