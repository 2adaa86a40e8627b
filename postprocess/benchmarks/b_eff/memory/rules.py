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
from coffeecup.postprocess.logs.rules import Problem, problems_of_options

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
        if any(pattern.memory for pattern in plan.patterns):
            yield "memory", plan
        yield from problems_of_options(run, {"memory": None, "memory-anyway": False})
        return
    named = kinds(plan)
    if named != [kind for kind in KINDS if kind in named]:
        yield "memory", plan
    yield from problems_of_options(run, {"memory": named})
    yield from problems_of_patterns(plan)
    for memory in plan.memory:
        yield from problems_of_memory(log, memory)
    for one, other in pairwise(memory for memory in plan.memory if memory.kind != HOST):
        if vendor(one.kind) == vendor(other.kind) and one.devices != other.devices:
            yield "devices", plan


def problems_of_patterns(plan: Plan) -> Iterator[Problem]:
    """Each pattern follows itself in every kind, with nothing else that differs."""
    for base, repeated in groupby(plan.patterns, key=base_of):
        patterns = list(repeated)
        pairs = [list(pair) for pair in combinations_with_replacement(kinds(plan), 2)]
        wanted = [pair for pair in pairs if pair[0] == pair[1] or patterns[0].group == "ping_pong"]
        if (
            [pattern.memory for pattern in patterns] != wanted
            or any(pattern.name != f"{base}-{kind_of(pattern)}" for pattern in patterns)
            or len({fields_of(pattern) for pattern in patterns}) > 1
        ):
            yield "memory_of_patterns", plan


def fields_of(pattern: Pattern) -> str:
    """All but the name and the kind."""
    return repr(structs.replace(pattern, name="pattern", memory=None))


def problems_of_memory(log: Log[Plan], memory: Memory) -> Iterator[Problem]:
    run, plan, kind, bytes_each = log.run, log.plan, memory.kind, memory.memory_per_process_bytes
    of_device = (memory.library, memory.supported, memory.asked, memory.devices)
    if memory.devices is None or memory.asked is None or kind == HOST:
        described = kind != HOST or any(field is not None for field in of_device)
        if described or bytes_each != run.memory_per_process_bytes:
            yield "memory", plan
        return
    if memory.library is None or memory.supported is None:
        yield "memory", plan
    yield from problems_of_answers(log, memory)
    yield from problems_of_devices(log, memory.devices)
    least = min(device.memory_bytes // len(device.ranks) for device in memory.devices)
    if bytes_each != (run.memory_per_process_bytes if run.memory_source == "option" else least) or bytes_each > least:
        yield "device_memory", plan


def problems_of_answers(log: Log[Plan], memory: Memory) -> Iterator[Problem]:
    """An answer on rank 0 is not enough: other nodes may have other libraries."""
    answers, kind = memory.asked or {}, memory.kind
    if list(answers) != [ALLOC_KINDS, *QUESTIONS[vendor(kind)][1], OF_UCX] or any(
        isinstance(answer, bool if name == ALLOC_KINDS else str) for name, answer in answers.items()
    ):
        yield "asked", log.plan
    listed = answers.get(ALLOC_KINDS)
    yes = True in answers.values() or (isinstance(listed, str) and is_listed(listed, kind))
    if (memory.supported and not yes) or (not memory.supported and not log.run.options["memory-anyway"]):
        yield "supported", log.plan


def problems_of_devices(log: Log[Plan], devices: list[Device]) -> Iterator[Problem]:
    """Each process has one device, of its own node."""
    host_of = {rank: host.name for host in log.run.hosts for rank in host.ranks}
    ranks = [rank for device in devices for rank in device.ranks]
    if sorted(ranks) != list(range(log.run.ranks)):
        yield "devices", log.plan
        return
    places = [(host_of[device.ranks[0]], device.pci_address) for device in devices]
    if (
        any(device.ranks != sorted(device.ranks) for device in devices)
        or [device.ranks[0] for device in devices] != sorted(device.ranks[0] for device in devices)
        or any(len({host_of[rank] for rank in device.ranks}) > 1 for device in devices)
        or len(set(places)) < len(places)
    ):
        yield "devices", log.plan


def vendor(kind: str) -> str:
    return kind.split("-")[0]


def is_listed(kinds_stated: str, kind: str) -> bool:
    """Whether a value of MPI 4.1 has a kind: NAME, or NAME:RESTRICTOR:... with the one of the kind."""
    name, restrictor = QUESTIONS[vendor(kind)][0], RESTRICTORS.get(kind.split("-")[-1], "device")
    entries = [entry.split(":") for entry in kinds_stated.split(",")]
    return any(entry[0] == name and (len(entry) == 1 or restrictor in entry[1:]) for entry in entries)
