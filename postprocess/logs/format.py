# SPDX-License-Identifier: Apache-2.0
"""The format of the logs of one benchmark: its records, and how they translate into the progress of a run.

The caller passes the formats of all benchmarks to a reader, so nothing in this folder knows a benchmark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from typing import Any

import msgspec

from coffeecup.postprocess.logs.counter_records import Counters
from coffeecup.postprocess.logs.records import Activity, Clocks, End, Files, Overhead, Overlap, Record, Run, kind_of

COMMON = (Run, Overhead, Files, Clocks, Counters, Activity, Overlap, End)  # the records of every log
# (plan, record) -> steps; Any because each benchmark has a plan and records of its own
Steps = Callable[[Any, Any], int]


def one(plan, record) -> int:
    """The step of a record that is one itself."""
    return 1


@dataclass(frozen=True)
class Progress:
    """How a plan translates into steps. `planned` is their number according to the plan record. `done` and `left_out`
    are the numbers of steps that a record completes or removes from the plan, each a function of the plan and the
    record."""

    planned: Callable[[Any], int]
    done: Mapping[type[Record], Steps]
    left_out: Mapping[type[Record], Steps] = field(default_factory=dict)


@dataclass(frozen=True)
class LogFormat:
    """The logs of one benchmark. `own` are its records besides those of every log, `options` the names of its kernel's
    options, separated by blanks."""

    own: tuple[type[Record], ...]
    options: str
    progress: Progress

    @cached_property
    def records(self) -> dict[str, type[Record]]:
        """The class of each kind of record."""
        every = (*COMMON, *self.own)
        kinds = {kind_of(record): record for record in every}
        if len(kinds) != len(every):
            raise ValueError(f"two records of the same kind among {', '.join(map(kind_of, every))}")
        return kinds

    @cached_property
    def decoder(self) -> msgspec.json.Decoder:
        """Turns a line into a checked record."""
        return msgspec.json.Decoder(reduce(or_, self.records.values()))

    @property
    def schema(self) -> dict:
        """JSON Schema of one record."""
        records = reduce(or_, self.records.values())
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(records)}
