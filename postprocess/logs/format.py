# SPDX-License-Identifier: Apache-2.0
"""The format of the logs of one benchmark: the schema of its records, and how they translate into the progress of a
run.

The caller passes the formats of all benchmarks to a reader, so nothing in this folder knows a benchmark.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources

Steps = Callable[[dict, dict], int]


@dataclass(frozen=True)
class Progress:
    """How a plan translates into steps. `planned` is their number according to the plan record. `done` and `left_out`
    are the numbers of steps that a record of a kind completes or removes from the plan, each a function of the plan and
    the record."""

    planned: Callable[[dict], int]
    done: Mapping[str, Steps]
    left_out: Mapping[str, Steps] = field(default_factory=dict)


@dataclass(frozen=True)
class LogFormat:
    """The logs of one benchmark. `own` is the JSON Schema of the records that only this benchmark writes."""

    own: dict
    progress: Progress

    @cached_property
    def schema(self) -> dict:
        """The contract of one record of these logs."""
        common = common_schema()
        if clash := common["$defs"].keys() & self.own["$defs"].keys():
            raise ValueError(f"{self.own['$id']}: {', '.join(sorted(clash))} is defined in logs/schema.json already")
        return {
            "$schema": common["$schema"],
            "$id": self.own["$id"],
            "oneOf": common["oneOf"] + self.own["oneOf"],
            "$defs": common["$defs"] | self.own["$defs"],
        }

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of records."""
        return frozenset(entry["$ref"].removeprefix("#/$defs/") for entry in self.schema["oneOf"])

    @cached_property
    def validators(self) -> dict:
        """By kind: the jsonschema_rs validator of one record (False) and of a list of records (True)."""
        # imported here: a Python without it must get as far as reframe_checks, which prints how to install it
        import jsonschema_rs

        made = {}
        for kind in self.kinds:
            record = {"$ref": f"#/$defs/{kind}"}
            for many, form in ((False, record), (True, {"type": "array", "items": record})):
                made[kind, many] = jsonschema_rs.Draft202012Validator({"$defs": self.schema["$defs"], **form})
        return made


@cache
def common_schema() -> dict:
    """The records that every log has."""
    return json.loads(resources.files("postprocess.logs").joinpath("schema.json").read_text("utf-8"))
