"""What makes a b_eff run official, and what else flatters or limits its result: sentences that stand beside the number wherever it
is shown."""

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from postprocess.benchmarks.b_eff.rules import L_MAX_LIMIT, METHODS_AVERAGED, MIB, PATTERNS_AVERAGED, l_max_rule
from postprocess.benchmarks.score import Qualification
from postprocess.logs.hosts import of_hosts
from postprocess.logs.reader import Log
from postprocess.show.words import counted, digits, size

REPETITIONS = 3
FIRST_LOOP_LENGTH = 300
LONGEST_LOOP_LENGTH = 100000  # no limit: a loop of 5 ms has fewer exchanges
SHORT_LOOP_SECONDS = 1e-3
COARSE_CLOCK = 0.01  # of a loop's time


def breaches(log: Log) -> list[Qualification]:
    """The paper's rules that the run did not keep; a run without any is official. Rules on patterns and message lengths are not
    here: a log that breaks them yields no score at all."""
    return [Qualification(key, f"Not official: {text}.") for key, text in broken_rules(log)]


def broken_rules(log: Log) -> Iterator[tuple[str, str]]:
    run, plan = log.run, log.plan
    if run["simulated"]:
        yield "simulated", "the machine was simulated, nothing was measured on it"
    if run["memory_source"] == "option":
        yield "memory_by_option", (f"the memory per process ({size(run['memory_per_process_bytes'])}) was given by an option, "
                                   "not found on the machine")
    elif run["memory_per_process_bytes"] != (found := memory_on_hosts(run)):
        yield "memory_differs", (f"the memory per process ({size(run['memory_per_process_bytes'])}) is not what the hosts' memory "
                                 f"gives ({size(found)})")
    if abs(plan["l_max_bytes"] - (rule := l_max_rule(run["memory_per_process_bytes"]))) > 1:
        yield "l_max", (f"L_max is {size(plan['l_max_bytes'])} where the rule min({L_MAX_LIMIT // MIB} MiB, memory per process / 128) "
                        f"gives {size(rule)}")
    if plan["repetitions"] != REPETITIONS:
        yield "repetitions", f"{counted(plan['repetitions'], 'repetition')} of each measurement instead of {REPETITIONS}"
    if once := [record for record in budget_of_averaged(log) if record["reduced_to"] == "best_method_once"]:
        yield "measured_once", (f"to keep the time budget, {len(once)} combinations of pattern and message length were measured once "
                                f"instead of {REPETITIONS} times")
    if plan["first_loop_length"] != FIRST_LOOP_LENGTH:
        yield "first_loop_length", f"the first loop has {plan['first_loop_length']} exchanges instead of {FIRST_LOOP_LENGTH}"
    if plan["longest_loop_length"] < LONGEST_LOOP_LENGTH:
        yield "longest_loop_length", (f"no loop has more than {counted(plan['longest_loop_length'], 'exchange')}, where the rule is 2.5 "
                                      "to 5 ms a loop")
    if plan["random_patterns"] != PATTERNS_AVERAGED["random"]:
        yield "random_patterns", (f"{counted(plan['random_patterns'], 'random pattern')} entered the average instead of "
                                  f"{PATTERNS_AVERAGED['random']}")
    if left_out := {method for pattern in plan["patterns"] if pattern["averaged"]
                    for method in METHODS_AVERAGED - set(pattern["methods"])}:
        yield "methods", f"the run left out the method {' and '.join(sorted(left_out))}"


def memory_on_hosts(run: dict) -> int:
    """Memory per process in byte, on the host that has least."""
    return min(host["memory_bytes"] // len(host["ranks"]) for host in run["hosts"])


def budget_of_averaged(log: Log) -> list[dict]:
    averaged = {pattern["name"] for pattern in log.plan["patterns"] if pattern["averaged"]}
    return [record for record in log.records.get("budget", []) if record["pattern"] in averaged]


def qualifications(log: Log, table: pd.DataFrame) -> list[Qualification]:
    """What a reader must know beside the number. `table` holds this log's rows of a measurement_table."""
    return [Qualification(key, f"{text}.") for key, text in [*of_hosts(log), *of_time(log), *of_loops(log, table), *of_data(log)]]


REDUCTIONS = {
    "averaged_methods": "only the averaged methods ran",
    "best_method": "only the method that was best at the previous length ran",
    "best_method_once": "only that method ran, once",
}


def of_time(log: Log) -> Iterator[tuple[str, str]]:
    elapsed, stated = log.end["elapsed_seconds"], log.plan["time_budget_seconds"]
    if budget := log.records.get("budget", []):
        kinds = Counter(record["reduced_to"] for record in budget)
        reductions = "; ".join(f"at {kinds[kind]} {text}" for kind, text in REDUCTIONS.items() if kinds[kind])
        combinations = len(log.plan["patterns"]) * len(log.plan["message_bytes"])
        yield "budget", (f"To keep the time budget of {digits(stated)} s, {len(budget)} of {combinations} combinations of pattern and "
                         f"message length were reduced, {len(budget_of_averaged(log))} of them in patterns that enter b_eff: "
                         f"{reductions}")
    if elapsed > stated:
        yield "over_budget", f"The run took {digits(elapsed)} s, longer than its time budget of {digits(stated)} s"


def of_loops(log: Log, table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The first loop, whose length the paper fixes, may be short; all others are adapted to 2.5 ms or more."""
    if log.run["simulated"]:
        return  # its clock has no noise
    averaged = table[table["averaged"]]
    adapted = averaged.query("message_bytes > 1")["elapsed_seconds"]
    shortest = averaged["elapsed_seconds"].min()
    resolution = log.records["overhead"][0]["clock_resolution_seconds"]
    if short := int((adapted < SHORT_LOOP_SECONDS).sum()):
        yield "short_loops", (f"{short} of {len(adapted)} timed loops that enter b_eff ({short / len(adapted):.1%}) were shorter than "
                              "1 ms: their bandwidths scatter more")
    if resolution > COARSE_CLOCK * shortest:
        yield "coarse_clock", (f"The clock's resolution, {resolution * 1e6:.3g} us, is {resolution / shortest:.1%} of the shortest "
                               f"timed loop, {shortest * 1e6:.3g} us")


def of_data(log: Log) -> Iterator[tuple[str, str]]:
    check = log.records["data_check"][0]
    if check["received_bytes"] and not check["checked_bytes"]:
        yield "not_checked", "None of the received bytes was checked" + (
            ": the simulation does not move the contents of messages" if log.run["simulated"] else "")
    elif check["checked_bytes"] < check["received_bytes"]:
        yield "partly_checked", (f"{check['checked_bytes'] / check['received_bytes']:.1%} of the received bytes were checked; the rest was "
                                 "overwritten by later messages of the same loop")
