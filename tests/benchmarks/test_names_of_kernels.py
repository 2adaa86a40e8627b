# SPDX-License-Identifier: Apache-2.0
"""What kernels and postprocess both state has the same names, the same order and the same properties: methods, pattern
types, groups of patterns, kinds of memory and stages."""

import re
from typing import get_args

import pytest
from builds import ROOT

from coffeecup.postprocess.benchmarks.b_eff import definition as b_eff
from coffeecup.postprocess.benchmarks.b_eff.memory.records import Kind
from coffeecup.postprocess.benchmarks.b_eff.records import Group
from coffeecup.postprocess.benchmarks.b_eff_io import definition as b_eff_io
from coffeecup.postprocess.benchmarks.ftio.rules import STAGES


def table(source, name):
    """The text between the braces of an array in a C source."""
    text = (ROOT / "kernels" / source).read_text(encoding="utf-8")
    [content] = re.findall(rf"\b{name}\[[^\]]*\] = {{(.*?)}};", text, re.DOTALL)
    return content


def rows(source, name, flags):
    """The name in each row of a table, and as many flags behind it."""
    row = r'\{"([\w-]+)"' + r", (true|false)" * flags + ","
    found = [match.groups() for match in re.finditer(row, table(source, name))]
    return {name: tuple(word == "true" for word in words) for name, *words in found}


def test_methods_of_b_eff():
    stated = rows("b_eff/methods.c", "methods", 1)
    assert tuple(stated) == b_eff.METHODS
    assert {name for name, (averaged,) in stated.items() if averaged} == b_eff.METHODS_AVERAGED


def test_access_methods_and_pattern_types_of_b_eff_io():
    assert tuple(rows("b_eff_io/methods.c", "methods", 0)) == b_eff_io.METHODS
    stated = rows("b_eff_io/methods.c", "pattern_types", 4)
    rules = b_eff_io.TYPE_RULES.items()
    assert [*stated.items()] == [(name, rule[:4]) for name, rule in rules]


@pytest.mark.parametrize(
    ("source", "name", "stated"),
    [
        ("b_eff/patterns.c", "pattern_group_names", get_args(Group)),
        ("common/memory_kinds.c", "memory_kind_names", get_args(Kind)),
        ("ftio/phases.c", "stage_names", STAGES),
    ],
)
def test_names_of_options_and_stages(source, name, stated):
    assert tuple(re.findall(r'"([\w-]+)"', table(source, name))) == tuple(stated)
