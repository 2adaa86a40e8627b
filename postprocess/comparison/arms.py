# SPDX-License-Identifier: Apache-2.0
"""In what the arms of a comparison really differed, as their logs state it, and whether their plan explains it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from coffeecup.postprocess.comparison.plan import CONTROL, Plan
from coffeecup.postprocess.logs.facts import facts
from coffeecup.postprocess.logs.reader import Log

COMPARED = "COFFEECUP_COMPARED"  # names the variables that kernels record beside those that they always do
ENVIRONMENT, OPTION = "environment ", "option "
# What may change a fact: the fields of an arm. Of the other facts (of MPI, of its placement) it is any of them.
BUILT = frozenset({"command", "modules"})
CAUSES = {
    "benchmark": frozenset({"command"}),
    "kernel version": BUILT,
    "sources": BUILT,
    "compiler": BUILT,
    "compiler flags": BUILT,
    "compiled with": BUILT,
    "processes": frozenset({"command"}),
    "hosts": frozenset({"command"}),
    "cores of a host": frozenset[str](),
    "memory of a host": frozenset[str](),
}


@dataclass(frozen=True)
class Difference:
    """A fact in which arms differ: its value in each arm, and whether a field of their plan explains it."""

    fact: str
    values: dict[str, str]
    explained: bool


def facts_of_run(log: Log) -> dict[str, str]:
    """Everything about a run that its plan can change, or that should be the same in all."""
    run = log.run
    stated = {
        "benchmark": run.benchmark,
        "kernel version": run.kernel_version,
        "sources": run.build.source_sha256[:12],
        "compiled with": run.build.mpi_library,
        "MPI library": run.mpi.library,
        "processes": run.ranks,
        "hosts": ", ".join(sorted(host.name for host in run.hosts)),
        **{f"{OPTION}{name}": value for name, value in run.options.items() if name != "log"},
        **{name: value for name, value in facts(log).items() if not isinstance(value, float)},
        **{f"{ENVIRONMENT}{name}": value for name, value in run.environment.items() if name.isidentifier()},
    }
    hidden = {f"{ENVIRONMENT}{COMPARED}", f"{ENVIRONMENT}COFFEECUP_ASKED"}
    return {name: str(value) for name, value in stated.items() if value is not None and name not in hidden}


def differences(plan: Plan, logs: Iterable[tuple[str, Log]]) -> list[Difference]:
    """The facts that are the same in all runs of each arm, and not in all arms; of pairs of an arm and a log. What
    changes within an arm is no property of it."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    counted: dict[str, list[dict[str, str]]] = defaultdict(list)
    for arm, log in logs:
        counted[arm].append(facts_of_run(log))
    for name in sorted({name for runs in counted.values() for stated in runs for name in stated}):
        for arm, runs in counted.items():
            found[name][arm] = {stated.get(name, "") for stated in runs}
    return [
        Difference(name, {arm: next(iter(values)) for arm, values in by_arm.items()}, explained(plan, name, by_arm))
        for name, by_arm in found.items()
        if all(len(values) == 1 for values in by_arm.values()) and len(set.union(*by_arm.values())) > 1
    ]


def explained(plan: Plan, fact: str, by_arm: dict[str, set[str]]) -> bool:
    """Whether each arm whose value is not that of the first one changes something that may be the cause."""
    usual = by_arm[plan.first]
    return all(may_change(plan, arm, fact) for arm, values in by_arm.items() if values != usual)


def may_change(plan: Plan, name: str, fact: str) -> bool:
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
