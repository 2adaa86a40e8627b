# SPDX-License-Identifier: Apache-2.0
"""What kernels and postprocess both state is the same on both sides: sizes and patterns that follow from the memory,
numbers of loops, names, and the counters of nodes. Each fact is stated once in C and once in Python."""

import json
import subprocess
from typing import get_args

import pytest

from coffeecup.postprocess.benchmarks.b_eff import definition as b_eff
from coffeecup.postprocess.benchmarks.b_eff import loops, qualifications
from coffeecup.postprocess.benchmarks.b_eff import records as b_eff_records
from coffeecup.postprocess.benchmarks.b_eff.memory.records import Kind
from coffeecup.postprocess.benchmarks.b_eff_io import definition as b_eff_io
from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement
from coffeecup.postprocess.benchmarks.b_eff_io_load import records as io_load_records
from coffeecup.postprocess.benchmarks.b_eff_io_load import rules as io_load
from coffeecup.postprocess.benchmarks.b_eff_load import records as load_records
from coffeecup.postprocess.benchmarks.b_eff_load import rules as load
from coffeecup.postprocess.benchmarks.ftio import records as ftio_records
from coffeecup.postprocess.benchmarks.ftio import rules as ftio
from coffeecup.postprocess.benchmarks.ftio import sizes
from coffeecup.postprocess.logs.counter_kinds import KINDS


@pytest.fixture
def facts(sanitized):
    """`facts(name)`: what the kernels state."""

    def read(name):
        text = subprocess.run([sanitized / "tests" / f"facts_{name}"], capture_output=True, text=True, check=True)
        return json.loads(text.stdout)

    return read


def names_of(record, field):
    """The texts that a field of a record may be."""
    names = get_args(record.__annotations__[field])
    return list(get_args(names[0]) or names)


def test_facts_of_b_eff_and_its_load(facts):
    stated = facts("b_eff_load")
    for size in stated.pop("sizes"):
        l_max = b_eff.l_max_rule(size["memory_per_process_bytes"])
        assert size["l_max_bytes"] == l_max
        assert size["message_bytes"] == b_eff.message_lengths(l_max).tolist()
        assert size["buffer_bytes"] == b_eff.buffer_rule(l_max)
        assert size["load_message_bytes"] == min(l_max // load.SHARE_OF_L_MAX, load.LONGEST_LOAD_MESSAGE)
    assert list(stated["methods"]) == list(b_eff.METHODS), "in their order"
    assert stated == {
        "methods": {name: name in b_eff.METHODS_AVERAGED for name in b_eff.METHODS},
        "groups": list(get_args(b_eff_records.Group)),
        **b_eff.PATTERNS_AVERAGED,
        "trial_loops": loops.TRIALS,
        "latency_loop": b_eff_records.Latency.fixed_length,
        "longest_loop": qualifications.LONGEST_LOOP_LENGTH,
        "repetitions": qualifications.REPETITIONS,
        "reductions": names_of(b_eff_records.Budget, "reduced_to"),
        "memory_kinds": list(get_args(Kind)),
        "loads": list(load_records.LOADS),
        "load_method": load.METHOD,
        "load_file_bytes": load.FILE_BYTES,
        "counters": {name: kind.counts for name, kind in KINDS.items()},
    }


def test_facts_of_b_eff_io_and_its_load(facts):
    stated = facts("b_eff_io_load")
    for size in stated.pop("sizes"):
        m_part = b_eff_io.m_part_rule(size["node_memory_bytes"])
        patterns = [tuple(pattern.values()) for pattern in size["patterns"]]
        assert size["m_part_bytes"] == m_part and patterns == b_eff_io.patterns_rule(m_part)
    for processes, partitions in stated.pop("partitions").items():
        assert partitions == b_eff_io.default_partitions(int(processes))
    endings = stated.pop("endings")
    assert sorted(endings) == sorted(names_of(Measurement, "ended_by"))
    assert list(stated["types"]) == list(b_eff_io.TYPE_RULES), "in their order"
    assert stated == {
        "types": {name: rule._asdict() for name, rule in b_eff_io.TYPE_RULES.items()},
        "methods": list(b_eff_io.METHODS),
        "units": b_eff_io.UNITS,
        "period_bytes": b_eff_io.PERIOD_BYTES,
        "loads": list(io_load_records.LOADS),
        "load_repetitions": io_load.REPETITIONS,
        "most_loaded_calls": io_load.MOST_CALLS,
        "load_patterns": list(io_load.PATTERNS),
    }


def test_facts_of_ftio(facts):
    stated = facts("ftio")
    for size in stated.pop("inputs"):
        processes = size["processes"]
        assert size["automatic"] == sizes.automatic_input(processes)
        assert size["direct"] == sizes.automatic_input(processes, sizes.DIRECT_MULTIPLE)
    assert stated == {
        "stages": list(ftio.STAGES),
        "activities": ftio.ACTIVITIES,
        "storage": names_of(ftio_records.Plan, "storage"),
        "element_bytes": sizes.ELEMENT_BYTES,
    }
