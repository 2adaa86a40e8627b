# SPDX-License-Identifier: Apache-2.0
"""What limits a result in memory of accelerators."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.definition import l_max_rule
from coffeecup.postprocess.benchmarks.b_eff.memory.kinds import views
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import size


def broken_rules_of_memory(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The paper's rule for L_max, which each kind of memory has for its own size."""
    rules = {view.words: l_max_rule(view.log.run.memory_per_process_bytes) for view in views(log)}
    if longer := [f"{size(rule)} in {words}" for words, rule in rules.items() if rule > log.plan.l_max_bytes]:
        yield (
            "l_max_of_other_memory",
            f"L_max is {size(log.plan.l_max_bytes)} in all kinds of memory, where the rule is {' and '.join(longer)}",
        )


def of_memories(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """Kinds of memory that were measured although the MPI library does not state that it supports them."""
    if unsupported := [memory.kind for memory in log.plan.memory or [] if memory.supported is False]:
        yield (
            "memory_not_supported",
            f"The MPI library does not state that it supports {' and '.join(unsupported)} memory; it was tried by "
            "--memory-anyway",
        )
