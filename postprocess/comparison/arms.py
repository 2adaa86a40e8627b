# SPDX-License-Identifier: Apache-2.0
"""In what the arms of a comparison really differed, as their logs state it, and whether their plan explains it."""

from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256

import msgspec

from coffeecup.postprocess.comparison.plan import CONTROL, Plan
from coffeecup.postprocess.logs.facts import facts
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Files

COMPARED = "COFFEECUP_COMPARED"  # names the variables that kernels record beside those that they always do
ENVIRONMENT, OPTION, HOSTS = "environment ", "option ", "hosts"
COMPARED_FACT = f"{ENVIRONMENT}{COMPARED}"
# What may change a fact: the fields of an arm. Of the other facts (of MPI, of its placement) it is any of them.
BUILT = frozenset({"command", "modules"})
LIBRARY = "MPI library"
BUILDS = ("kernel version", "sources", "compiler", "compiler flags", "compiled with")
CAUSES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("benchmark", HOSTS, "operating system", "cores of a host", "memory of a host"), frozenset({"command"})
    ),
    **dict.fromkeys(BUILDS, BUILT),
    "processes": frozenset({"command", "environment"}),  # such as SLURM_NTASKS_PER_NODE
}


class Difference(msgspec.Struct, frozen=True):
    """A fact in which arms differ: its value in each arm, and whether a field of their plan explains it."""

    fact: str
    values: dict[str, str]
    explained: bool


class Change(msgspec.Struct, frozen=True):
    """A fact that did not stay the same in these arms: its values, each by the number of the first block with it."""

    fact: str
    arms: list[str]
    values: dict[str, str]


def facts_of_run(log: Log) -> dict[str, str]:
    """Everything about a run that its plan can change, or that should be the same in all."""
    run = log.run
    stated = {
        "benchmark": run.benchmark,
        "kernel version": run.kernel_version,
        "sources": run.build.source_sha256[:12],
        "compiled with": run.build.mpi_library,
        LIBRARY: run.mpi.library,
        "processes": run.ranks,
        HOSTS: hosts_of(log),
        **{f"{OPTION}{name}": value for name, value in run.options.items() if name != "log"},
        **{name: value for name, value in facts(log).items() if not isinstance(value, float)},
    }
    return {name: str(value) for name, value in stated.items() if value is not None and name != COMPARED_FACT}


def hosts_of(log: Log) -> str:
    """The names of the hosts of a run, each once: without shared memory, a process may be a host by itself to MPI."""
    return ", ".join(sorted({host.name for host in log.run.hosts}))


def differences(plan: Plan, logs: Iterable[tuple[str, Log]]) -> list[Difference]:
    """The facts in which the arms differ, of pairs of an arm and a log."""
    found = differing([(arm, facts_of_run(log)) for arm, log in logs])
    return [Difference(fact, values, explained(plan, fact, values)) for fact, values in found.items()]


def differing(runs: Collection[tuple[str, dict[str, str]]]) -> dict[str, dict[str, str]]:
    """The facts that are the same in all runs of each side which state them, and not in all sides, with the value in
    each, empty if none states it; of pairs of a side and facts. What changes within a side is no property of it."""
    found = {}
    for fact in sorted({fact for _, of_run in runs for fact in of_run}):
        values: dict[str, set[str]] = {side: set() for side, _ in runs}
        for side, of_run in runs:
            values[side] |= {of_run[fact]} if fact in of_run else set()
        if all(len(each) <= 1 for each in values.values()) and len({*map(frozenset, values.values())}) > 1:
            found[fact] = {side: "".join(each) for side, each in values.items()}
    return found


def changes(logs: Mapping[tuple[int, str], Log]) -> list[Change]:
    """The facts that changed from one block to another within an arm, for example because a comparison went on after a
    maintenance; of logs by block, from 0, and arm."""
    of_arms: dict[str, dict[str, dict[str, str]]] = {}
    for (block, arm), log in sorted(logs.items()):
        of_arms.setdefault(arm, {})[str(block + 1)] = facts_of_run(log) | {"program and libraries": hash_of_files(log)}
    found: dict[tuple, list[str]] = {}
    for arm, of_blocks in of_arms.items():
        for fact in {fact for of_run in of_blocks.values() for fact in of_run}:
            values = [(block, of_run.get(fact, "")) for block, of_run in of_blocks.items()]
            new = [now for now, before in zip(values[1:], values) if now[1] != before[1]]
            if new:
                found.setdefault((fact, values[0], *new), []).append(arm)
    return [Change(fact, arms, dict(values)) for (fact, *values), arms in sorted(found.items())]


def hash_of_files(log: Log) -> str:
    """Of the program and all libraries that it had loaded, in short."""
    files = sorted(str(file.sha256) for record in log.all(Files) for file in record.files if file.role != "input")
    return sha256(" ".join(files).encode()).hexdigest()[:12]


def explained(plan: Plan, fact: str, values: dict[str, str]) -> bool:
    """Whether each arm whose value is not that of the first one changes something that may be the cause."""
    return all(may_change(plan, arm, fact) for arm, value in values.items() if value != values.get(plan.first))


def may_change(plan: Plan, name: str, fact: str) -> bool:
    """Whether a field of an arm, or of the first one, may change a fact."""
    if name == CONTROL:
        return False
    arm, first = plan.arm(name), plan.arm(plan.first)
    changes = arm.changes | first.changes
    if fact.startswith(ENVIRONMENT):
        variable = fact.removeprefix(ENVIRONMENT)
        return variable in arm.environment or variable in first.environment or bool(changes & BUILT)
    if fact.startswith(OPTION):
        return bool(changes & {"options", "command"})
    return bool(changes & CAUSES.get(fact, changes))


def not_arrived(name: str, environment: dict[str, str | None], log: Log) -> str | None:
    """Why the variables of an arm are not those of all its processes, as its log states them; None if they are."""
    recorded = log.run.environment
    if environment and COMPARED not in recorded:
        return f"the processes of arm {name} did not get the variables of the command: does the launcher pass them on?"
    for variable, value in environment.items():
        if recorded.get(variable) != value:
            there = f"had the value {recorded[variable]!r}" if variable in recorded else "was not set"
            return f"variable {variable} of arm {name} {there} in its processes"
        if variable in log.run.environment_differs:
            return f"variable {variable} of arm {name} has another value in some of its processes: pass it to all"
    return None
