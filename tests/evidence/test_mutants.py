# SPDX-License-Identifier: Apache-2.0
"""tests/evidence/mutants.csv: `make prove` replaces figures, and what a person wrote about survivors stays only as long
as it concerns the same figures."""

import csv

import pytest
from mutants import FIGURES, MUTATED, NOT_EXAMINED, ROOT, path_of, record

MODULES = ("postprocess/references/gate.py", "postprocess/statistics/means.py")
HEAD = "module,digits,date,tried,noticed,by_time,numbers,numbers_noticed,survivors\n"
ROWS = f"{MODULES[0]},3,2026-01-01,13,12,0,2,2,1 text\npostprocess/gone.py,3,2026-01-01,1,1,0,0,0,\n"


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ((13, 12, 0, 2, 2), "1 text"),
        ((13, 11, 0, 2, 2), NOT_EXAMINED),
        ((13, 13, 0, 2, 1), NOT_EXAMINED),
        ((13, 13, 0, 2, 2), ""),
    ],
)
def test_a_reason_stays_with_the_figures_that_it_explains(tmp_path, figures, reason):
    path = tmp_path / "mutants.csv"
    path.write_text(HEAD + ROWS)
    record(path, (MODULES[0], "3"), figures)
    record(path, (MODULES[1], "7"), (5, 5, 0, 0, 0))
    head, *rows = list(csv.reader(path.open()))
    assert ",".join(head) + "\n" == HEAD
    assert [(*row[:2], *row[3:]) for row in rows] == [
        (MODULES[0], "3", *map(str, figures), reason),
        (MODULES[1], "7", "5", "5", "0", "0", "0", ""),
    ]
    assert all(row[2] > "2026-01-01" for row in rows)


def test_survivors_have_a_reason():
    rows = list(csv.DictReader(FIGURES.open()))
    assert len(rows) > 50
    for row in rows:
        names = ("tried", "noticed", "numbers", "numbers_noticed")
        tried, noticed, numbers, numbers_noticed = (int(row[name]) for name in names)
        assert noticed <= tried and numbers_noticed <= numbers, row
        assert row["survivors"] or (noticed, numbers_noticed) == (tried, numbers), row


def test_modules_and_their_tests_are_there():
    stated = {row["module"] for row in csv.DictReader(FIGURES.open())}
    assert stated <= MUTATED.keys() and [module for module in MUTATED if not (ROOT / module).is_file()] == []
    assert all(map(path_of, {test for tests in MUTATED.values() for test in tests}))
