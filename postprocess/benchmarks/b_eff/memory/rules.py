# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on kinds of memory: which patterns are measured in which kind, in which order, on which devices,
and what the MPI library answered. docs/log.md lists the invariants."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, groupby, pairwise

from msgspec import structs

from coffeecup.postprocess.benchmarks.b_eff.memory.kinds import base_of, kind_of, kinds
from coffeecup.postprocess.benchmarks.b_eff.memory.records import HOST, KINDS, Device, Memory
from coffeecup.postprocess.benchmarks.b_eff.records import Pattern, Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.logs.rules import Problem, broken, problems_of_options

ALLOC_KINDS, OF_UCX = "mpi_memory_alloc_kinds", "ucp_context_query"
# The name of a vendor in that list, and the functions that are asked, by the first word of a kind.
QUESTIONS = {
    "cuda": ("cuda", ["MPIX_Query_cuda_support"]),
    "hip": ("rocm", ["MPIX_Query_rocm_support", "MPIX_Query_hip_support"]),
    "level": ("level_zero", ["MPIX_Query_ze_support"]),
}
RESTRICTORS = {"managed": "managed", "shared": "shared"}  # by the last word of a kind; others are "device"


def problems_of_memories(log: Log[Plan]) -> Iterator[Problem]:
    """All of them; none of a log without --memory but that it says nothing of memory."""
    run, plan = log.run, log.plan
    if plan.memory is None:
        yield from broken(plan, {"memory": not any(pattern.memory for pattern in plan.patterns)})
        yield from problems_of_options(run, {"memory": None, "memory-anyway": False})
        return
    named = kinds(plan)
    yield from broken(plan, {"memory": named == [kind for kind in KINDS if kind in named]})
    yield from problems_of_options(run, {"memory": named})
    yield from problems_of_patterns(plan)
    for memory in plan.memory:
        yield from problems_of_memory(log, memory)
    pairs = pairwise(memory for memory in plan.memory if memory.kind != HOST)
    same = all(vendor(one.kind) != vendor(other.kind) or one.devices == other.devices for one, other in pairs)
    yield from broken(plan, {"devices": same})


def problems_of_patterns(plan: Plan) -> Iterator[Problem]:
    """Each pattern follows itself in every kind, with nothing else that differs."""
    for base, repeated in groupby(plan.patterns, key=base_of):
        patterns = list(repeated)
        pairs = [list(pair) for pair in combinations_with_replacement(kinds(plan), 2)]
        wanted = [pair for pair in pairs if pair[0] == pair[1] or patterns[0].group == "ping_pong"]
        named = all(pattern.name == f"{base}-{kind_of(pattern)}" for pattern in patterns)
        alike = len({fields_of(pattern) for pattern in patterns}) == 1
        in_order = [pattern.memory for pattern in patterns] == wanted
        yield from broken(plan, {"memory_of_patterns": in_order and named and alike})


def fields_of(pattern: Pattern) -> str:
    """All but the name and the kind."""
    return repr(structs.replace(pattern, name="pattern", memory=None))


def problems_of_memory(log: Log[Plan], memory: Memory) -> Iterator[Problem]:
    run, plan, kind, bytes_each = log.run, log.plan, memory.kind, memory.memory_per_process_bytes
    of_device = [memory.library, memory.supported, memory.asked, memory.devices]
    known = {field is not None for field in of_device}
    if memory.devices is None or kind == HOST:
        host = kind == HOST and known == {False} and bytes_each == run.memory_per_process_bytes
        yield from broken(plan, {"memory": host})
        return
    least = min(device.memory_bytes // len(device.ranks) for device in memory.devices)
    stated = run.memory_per_process_bytes if run.memory_source == "option" else least
    yield from broken(plan, {"memory": known == {True}})
    yield from problems_of_answers(log, memory)
    yield from broken(plan, {"devices": are_of_processes(log.run, memory.devices)})
    yield from broken(plan, {"device_memory": bytes_each == stated <= least})


def problems_of_answers(log: Log[Plan], memory: Memory) -> Iterator[Problem]:
    """An answer on rank 0 is not enough: other nodes may have other libraries."""
    answers, kind = memory.asked or {}, memory.kind
    questions, listed = [ALLOC_KINDS, *QUESTIONS[vendor(kind)][1], OF_UCX], answers.get(ALLOC_KINDS)
    typed = not any(isinstance(value, bool if name == ALLOC_KINDS else str) for name, value in answers.items())
    yes = True in answers.values() or (isinstance(listed, str) and is_listed(listed, kind))
    kept = {
        "asked": list(answers) == questions and typed,
        "supported": yes if memory.supported else log.run.options["memory-anyway"],
    }
    yield from broken(log.plan, kept)


def are_of_processes(run: Run, devices: list[Device]) -> bool:
    """Whether each process has one device, of its own node."""
    host_of = {rank: host.name for host in run.hosts for rank in host.ranks}
    ranks, first = [rank for device in devices for rank in device.ranks], [device.ranks[0] for device in devices]
    if sorted(ranks) != list(range(run.ranks)):
        return False
    hosts = [{host_of[rank] for rank in device.ranks} for device in devices]
    places = {(*names, device.pci_address) for names, device in zip(hosts, devices)}
    in_order = first == sorted(first) and all(device.ranks == sorted(device.ranks) for device in devices)
    return in_order and all(len(names) == 1 for names in hosts) and len(places) == len(devices)


def vendor(kind: str) -> str:
    return kind.split("-")[0]


def is_listed(kinds_stated: str, kind: str) -> bool:
    """Whether a value of MPI 4.1 has a kind: NAME, or NAME:RESTRICTOR:... with the one of the kind."""
    name, restrictor = QUESTIONS[vendor(kind)][0], RESTRICTORS.get(kind.split("-")[-1], "device")
    entries = [entry.split(":") for entry in kinds_stated.split(",")]
    return any(entry[0] == name and (len(entry) == 1 or restrictor in entry[1:]) for entry in entries)
