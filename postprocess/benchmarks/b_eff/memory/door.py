# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff asks for of kinds of memory: a log of several kinds is a view for each, as the paper defines
it."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.memory.kinds import views
from coffeecup.postprocess.benchmarks.b_eff.memory.metrics import metrics_between
from coffeecup.postprocess.benchmarks.b_eff.memory.qualifications import broken_rules_of_memory, of_memories
from coffeecup.postprocess.benchmarks.b_eff.memory.rules import problems_of_memories
from coffeecup.postprocess.benchmarks.b_eff.memory.section import section

INVARIANTS = {
    "memory": (
        "kinds of memory are those of the option, each once and in order, and described only with the option; host "
        "memory has the bytes per process of the run"
    ),
    "memory_of_patterns": (
        "each pattern is planned once in each kind, and the ping-pong between each two, in this order"
    ),
    "asked": "the questions to the MPI library are those for the kind, and its answers have the right types",
    "supported": "a kind is supported only if an answer says so; if it is not, the option `memory-anyway` is set",
    "devices": (
        "each process has one device, on its node; devices are in the order of their ranks; kinds "
        "of the same vendor have the same devices"
    ),
    "device_memory": (
        "the memory per process of a device follows from its memory and its processes, or is that of the option and "
        "fits"
    ),
}
DOOR = Door(
    invariants=INVARIANTS,
    views=views,
    problems_of_views=problems_of_memories,
    metrics=metrics_between,
    breaches=broken_rules_of_memory,
    qualifications=of_memories,
    section=section,
)
