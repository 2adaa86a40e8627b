# SPDX-License-Identifier: Apache-2.0
"""Qualifications of a b_eff result: which of the paper's rules the run did not keep, and what else improves or limits
the result. They are shown beside the number everywhere."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.definition import METHODS_AVERAGED, PATTERNS_AVERAGED
from coffeecup.postprocess.benchmarks.b_eff.parts import checks, doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import Budget, DataCheck, Measurement, Plan, PlannedLoops, Stop
from coffeecup.postprocess.logs.hosts import of_hosts
from coffeecup.postprocess.logs.placement import number_stated
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Overhead, Run
from coffeecup.postprocess.show.words import counted, digits, size

REPETITIONS = 3
FIRST_LOOP_LENGTH = 300
LONGEST_LOOP_LENGTH = 100000  # no limit in practice: a loop of 5 ms has fewer exchanges
SHORT_LOOP_SECONDS = 1e-3
COARSE_CLOCK = 0.01  # of a loop's time
REPETITIONS_AGREE = 1.1  # the best repetition's bandwidth over the worst one's
OVER_BUDGET = 1.05  # a measurement that began within the budget is finished


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The paper's rules that the run did not keep; a run without any is official. Rules on patterns and message lengths
    are in rules.py, because a log that breaks them yields no score."""
    yield from broken_rules_of_run(log.run)
    for door in doors().values():
        yield from door.breaches(log)
    yield from broken_rules_of_repetition(log)


def broken_rules_of_run(run: Run) -> Iterator[tuple[str, str]]:
    """Memory that is not the machine's."""
    if run.memory_source == "option":
        yield (
            "memory_by_option",
            f"the memory per process ({size(run.memory_per_process_bytes)}) was set by an option, "
            "not found on the machine",
        )


def broken_rules_of_repetition(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    plan = log.plan
    if plan.repetitions != REPETITIONS:
        yield ("repetitions", f"{counted(plan.repetitions, 'repetition')} of each measurement instead of {REPETITIONS}")
    if seldom := sum(len(repetitions) < plan.repetitions for repetitions in repetitions_of_averaged(log).values()):
        yield (
            "measured_seldom",
            f"to keep the time budget, {seldom} combinations of pattern and message length were measured fewer "
            f"than {counted(plan.repetitions, 'time')}",
        )
    if plan.first_loop_length != FIRST_LOOP_LENGTH:
        yield (
            "first_loop_length",
            f"the first loop has {plan.first_loop_length} exchanges instead of {FIRST_LOOP_LENGTH}",
        )
    if plan.longest_loop_length < LONGEST_LOOP_LENGTH:
        yield (
            "longest_loop_length",
            f"no loop has more than {counted(plan.longest_loop_length, 'exchange')}, where the rule is 2.5 "
            "to 5 ms a loop",
        )
    if plan.random_patterns != PATTERNS_AVERAGED["random"]:
        yield (
            "random_patterns",
            f"{counted(plan.random_patterns, 'random pattern')} entered the average instead of "
            f"{PATTERNS_AVERAGED['random']}",
        )
    if left_out := {
        method for pattern in plan.patterns if pattern.averaged for method in METHODS_AVERAGED - set(pattern.methods)
    }:
        yield "methods", f"the run left out the method{'s' * (len(left_out) > 1)} {' and '.join(sorted(left_out))}"


def averaged_patterns(log: Log[Plan]) -> set[str]:
    return {pattern.name for pattern in log.plan.patterns if pattern.averaged}


def repetitions_of_averaged(log: Log[Plan]) -> dict[tuple[str, int], set[int]]:
    """The repetitions that measured an averaged pattern at a message length, by any method."""
    averaged, measured = averaged_patterns(log), defaultdict(set)
    for record in log.all(Measurement):
        if record.pattern in averaged:
            measured[record.pattern, record.message_bytes].add(record.repetition)
    return measured


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_hosts(log)
    yield from of_partition(log)
    for door in doors().values():
        yield from door.qualifications(log)
    yield from of_budgets(log)
    yield from of_time(log)
    yield from of_loops(log, table)
    yield from of_repetitions(log, table)
    yield from of_checks(log, table)
    yield from of_data(log)


def of_partition(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """b_eff is that of the whole system (the paper's section 5). Runs that the check did not start do not know it."""
    nodes, used = number_stated(log.run, "partition_nodes"), len(log.run.hosts)
    if nodes and used < nodes:
        yield (
            "part_of_partition",
            f"The run used {used} of the {counted(int(nodes), 'node')} of the partition: this is the b_eff of a part, "
            "the paper's is that of the whole system",
        )


REDUCTIONS = {
    "averaged_methods": "only the averaged methods ran",
    "best_method": "only the method that was best at the previous length ran",
    "nothing": "nothing ran, an earlier repetition counts",
}


def of_budgets(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    if budget := [record for record in log.all(Budget) if record.loops == "bandwidth"]:
        kinds = Counter(record.reduced_to for record in budget)
        reductions = "; ".join(f"at {kinds[kind]} {text}" for kind, text in REDUCTIONS.items() if kinds[kind])
        combinations = len(log.plan.patterns) * len(log.plan.message_bytes) * log.plan.repetitions
        averaged = averaged_patterns(log)
        yield (
            "budget",
            f"To keep the time budget of {digits(log.plan.time_budget_seconds)} s, {len(budget)} of {combinations} "
            "combinations of repetition, pattern and message length were reduced, "
            f"{sum(record.pattern in averaged for record in budget)} of them in patterns that enter b_eff: "
            f"{reductions}",
        )
    if patterns := {record.pattern for record in log.all(Budget) if record.loops == "latency"}:
        yield (
            "latency_loops",
            f"To keep the time budget, latency loops of {counted(len(patterns), 'pattern')} were left out: such "
            "latencies are those of fewer methods or of shorter loops",
        )


def of_time(log: Log[PlannedLoops]) -> Iterator[tuple[str, str]]:
    """A run that was stopped, or took longer than its time budget."""
    stops, stated = log.all(Stop), log.plan.time_budget_seconds
    for stop in stops:
        yield (
            "stopped",
            f"The run was stopped after {digits(stop.elapsed_seconds)} s, far beyond its time budget of "
            f"{digits(stated)} s: nothing from {stop.pattern} at {size(stop.message_bytes)} in repetition "
            f"{stop.repetition} on was measured; stop other programs, or state a larger time budget",
        )
    # A stop counts from the start of the processes, as the budget does, the end of a log from when it was opened.
    elapsed = max([log.end.elapsed_seconds, *(stop.elapsed_seconds for stop in stops)])
    if elapsed > OVER_BUDGET * stated:
        yield "over_budget", f"The run took {digits(elapsed)} s, longer than its time budget of {digits(stated)} s"


def of_loops(log: Log[PlannedLoops], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Loops that are too short. The first loop, whose length the paper fixes, may be short; all others are adapted to
    2.5 ms or more."""
    if log.run.simulated:
        return  # simulated time has no noise
    averaged = table[table["averaged"]]
    adapted = averaged["elapsed_seconds"][averaged["message_bytes"] > 1]
    shortest = averaged["elapsed_seconds"].min()
    resolution = log.only(Overhead).clock_resolution_seconds
    if short := int((adapted < SHORT_LOOP_SECONDS).sum()):
        yield (
            "short_loops",
            f"{short} of {len(adapted)} timed loops that enter b_eff ({short / len(adapted):.1%}) were shorter "
            "than 1 ms: their bandwidths scatter more",
        )
    if resolution > COARSE_CLOCK * shortest:
        yield (
            "coarse_clock",
            f"The clock's resolution, {resolution * 1e6:.3g} us, is {resolution / shortest:.1%} of the shortest "
            f"timed loop, {shortest * 1e6:.3g} us",
        )


def of_repetitions(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """In one view after the other."""
    disagreements = []
    for view in views(log):
        alone = repetitions_alone(table[table["view"] == view.suffix])
        if len(alone) > 1 and alone.max() > REPETITIONS_AGREE * alone.min():
            where = f" in {view.words}" if view.words else ""
            disagreements.append(", ".join(digits(value) for value in alone) + f" MByte/s{where}")
    if disagreements:
        yield (
            "repetitions_disagree",
            f"The repetitions disagree: each by itself gives {'; '.join(disagreements)}. The machine changed its "
            "state during the run; b_eff takes the best of each measurement",
        )


def of_checks(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    for view in views(log):
        for check in checks(view, table[table["view"] == view.suffix]):
            if check.doubtful:
                yield check.key, check.sentence


def repetitions_alone(table: pd.DataFrame) -> pd.Series:
    """The bandwidth of each repetition that measured everything: the geometric mean over the averaged patterns of the
    mean over the lengths, best of the methods."""
    best = (
        table[table["averaged"]]
        .groupby(["pattern", "message_bytes", "repetition"], observed=True)["bandwidth"]
        .max()
        .unstack()
    )
    means = best.dropna(axis="columns").groupby(level="pattern", observed=True).mean()
    return np.exp(np.log(means).mean()) if len(means) else pd.Series(dtype=float)


def of_data(log: Log[PlannedLoops]) -> Iterator[tuple[str, str]]:
    """How much of the received bytes was checked, if not all."""
    check = log.only(DataCheck)
    if check.received_bytes and not check.checked_bytes:
        yield (
            "not_checked",
            "None of the received bytes was checked"
            + (": the simulation does not move the contents of messages" if log.run.simulated else ""),
        )
    elif check.checked_bytes < check.received_bytes:
        yield (
            "partly_checked",
            f"{check.checked_bytes / check.received_bytes:.1%} of the received bytes were checked; the rest was "
            "overwritten by later messages of the same loop",
        )
