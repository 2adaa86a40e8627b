# SPDX-License-Identifier: Apache-2.0
"""Contracts are read strictly: what is wrong with one is told with file, line and place."""

import hashlib

import pytest

from postprocess.acceptance.contract import ContractError, read_contract

GOOD = """\
contract: Acceptance of phase 1
version: 1
clauses:
  - clause: network
    benchmark: b_eff
    metric: b_eff
    unit: MByte/s
    system: local
    partition: default
    size: {processes: 2}
    floor: 1000
    official: true
    repetitions: 3
    statistic: median
"""


def test_a_contract_is_read_with_its_hash(tmp_path):
    (tmp_path / "c.yaml").write_text(GOOD + "    excluded_nodes: [{node: 2026-01-01, reason: no date}]\n")
    agreed = read_contract(tmp_path / "c.yaml")
    assert agreed.sha256 == hashlib.sha256((tmp_path / "c.yaml").read_bytes()).hexdigest()
    [read] = agreed.clauses
    assert (read.floor, read.ceiling, read.processes, read.hosts, read.excluded_nodes) == (
        1000,
        None,
        2,
        None,
        {"2026-01-01": "no date"},
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", "line 2, version: 1 was expected"),
        ("    floor: 1000", "    floor: fast", "line 11, clauses.1.floor: "),
        ("    floor: 1000\n", "", "line 4, clauses.1: "),
        ("    floor: 1000", "    flor: 1000", "line 4, clauses.1: "),
        (
            "    floor: 1000",
            "    floor: 1000\n    ceiling: 900",
            "line 11, clauses.1.floor: the floor is above the ceiling",
        ),
        ("    floor: 1000", "    floor: .nan", "line 11, clauses.1.floor: "),
        ("    floor: 1000", "    floor: 1000\n    floor: 10", "line 12: the key 'floor' occurs twice"),
        ("median", "best", "line 14, clauses.1.statistic: "),
        ("repetitions: 3", "repetitions: 0", "line 13, clauses.1.repetitions: "),
        ("official: true", "official: yep", "line 12, clauses.1.official: "),
        ("{processes: 2}", "{nodes: 2}", "line 10, clauses.1.size: "),
        (
            "metric: b_eff",
            "metric: b_effi",
            "line 6, clauses.1.metric: b_eff has no metric 'b_effi'; valid are b_eff, ",
        ),
        (
            "benchmark: b_eff",
            "benchmark: linpack",
            "line 5, clauses.1.benchmark: unknown benchmark 'linpack'; valid are b_eff, ",
        ),
        ("unit: MByte/s", "unit: GByte/s", "line 7, clauses.1.unit: b_eff is in 'MByte/s', not in 'GByte/s'"),
        ("clauses:\n", "clauses: [\n", "line "),
        (GOOD, "", ": the file is empty"),
        (GOOD, "- a", "line 1"),
        (GOOD, "? [a]\n: 1", "line 1"),
        (GOOD, "!!python/object:os.system {}", "line 1"),
        (GOOD, GOOD + GOOD[GOOD.index("  - clause") :], "line 15, clauses.2.clause: a second clause 'network'"),
    ],
)
def test_what_is_wrong_with_a_contract_is_told_with_file_line_and_place(tmp_path, old, new, told):
    path = tmp_path / "contract.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ContractError) as error:
        read_contract(path)
    assert str(error.value).startswith(f"{path}") and told in str(error.value) and "\n" not in str(error.value), (
        error.value
    )


def aliases(levels, wide):
    """Each line stands for `wide` times the line before it."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * wide)}]" for n in range(1, levels))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (aliases(40, 9), "more than 1000000 entries, aliases included"),
        ("&a [*a]\n", "contains itself"),
        ("a: " + "[" * 300 + "]" * 300, "not valid YAML for a contract"),
        (GOOD.replace("1000", "1" + "0" * 400), "a finite number is expected"),
    ],
)
def test_text_that_would_take_all_memory_or_time_is_refused(tmp_path, text, told):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ContractError, match=told):
        read_contract(tmp_path / "c.yaml")


def test_aliases_that_stand_for_few_entries_are_read(tmp_path):
    size = GOOD.replace("size: {processes: 2}", "size: &size {processes: 2}")
    second = size.partition("clauses:\n")[2].replace("&size {processes: 2}", "*size").replace("network", "again")
    (tmp_path / "c.yaml").write_text(size + second)
    assert [clause.processes for clause in read_contract(tmp_path / "c.yaml").clauses] == [2, 2]
