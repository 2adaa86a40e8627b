# SPDX-License-Identifier: Apache-2.0
"""Numeric facts beside events: their distribution during an event and before. Rows made by hand."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import run
from sessions_made import case, database, night, nights, session

from coffeecup.postprocess.history.cases import recorded
from coffeecup.postprocess.history.circumstances import causes, circumstances
from coffeecup.postprocess.history.numbers import compared, is_unusual, numeric
from coffeecup.postprocess.history.site_facts import read_facts, with_facts
from coffeecup.postprocess.history.site_files import SiteFileError

BEFORE = [70.0, 75.5, 81.0]  # again and again: the tenth and the ninetieth percentile are the first and the last
DURING = [92.0, 93.5, 95.0, 92.0, 93.0, 95.0]


def rows(**facts):
    """Sessions of one series, a night each, with these facts; None where one is not recorded."""
    every = [
        json.dumps({name: value for name, value in zip(facts, some) if value is not None})
        for some in zip(*facts.values())
    ]
    return pd.DataFrame({"session_time": list(map(night, range(len(every)))), "file_system": "scratch", "facts": every})


def beside(table, since, lasted=99):
    order = {time: place for place, time in enumerate(sorted(table["session_time"].unique()))}
    return compared(table, order, table["session_time"].iloc[since], lasted)


def filling(before, during):
    return [*(BEFORE[number % 3] for number in range(before)), *during]


def test_an_episode_states_where_a_fact_was_and_where_it_was_before(tmp_path):
    """The mode of all 60 nights is 70; of the episode alone it is 92 or 95."""
    fill = [*filling(40, DURING), *filling(14, [])]
    stored = database(tmp_path / "results.db", nights([1000.0] * 40 + [500.0] * 6 + [1000.0] * 14))
    facts = tmp_path / "facts.csv"
    with facts.open("w") as file:
        table = csv.writer(file)
        table.writerow(["time", "fullest target (%)", "spare"])
        table.writerows([night(number).isoformat(), value, 5] for number, value in enumerate(fill))
    done = run("check-history", stored, "--facts", facts)
    assert done.exit_code == 0, done.output
    assert "Changed at that time: fullest target (%): 70 to 81 -> 92 to 95" in done.stdout
    assert "spare" not in done.stdout
    assert "nothing recorded" in run("check-history", stored).stdout
    listed = run("history", stored, "--facts", facts, "--json").stdout
    [event] = json.loads(listed)["events"]
    assert event["changed"] == ["fullest target (%): 70 to 81 -> 92 to 95"]
    assert json.loads(listed)["circumstances"] == []  # a number differs every night


def test_a_lasting_loss_is_compared_with_the_sessions_before_it():
    table = rows(fill=filling(20, [88.0] * 6))
    assert beside(table, 20) == ("fill: 70 to 81 -> 88",)
    assert beside(table, 20, lasted=2) == ()  # of fewer than three sessions nothing is said


@pytest.mark.parametrize(("facts", "stated"), [(4, 4), (5, 0)])
def test_the_limit_is_divided_by_the_number_of_facts(facts, stated):
    """Three sessions after eight: p = 2 / 165 = 0.0121; four times that is 0.048, five times 0.061."""
    values = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 20.5, 21.5, 22.5]
    assert len(beside(rows(**{f"fact {number}": values for number in range(facts)}), 8)) == stated


@pytest.mark.parametrize(("before", "stated"), [(7, 0), (8, 1)])
def test_fewer_than_8_sessions_before_tell_nothing(before, stated):
    assert len(beside(rows(fill=filling(before, [92.0] * 6)), before)) == stated


@pytest.mark.parametrize(("earlier", "unusual"), [(15, True), (14, False)])
def test_what_was_so_in_more_than_a_fifth_of_earlier_times_is_not_stated(earlier, unusual):
    """Three windows of three sessions have two of the three high ones: 3 of 15, and 3 of 14."""
    begin = earlier + 10
    measured = np.append(np.zeros(begin), np.ones(3))
    measured[12:15] = 1
    assert is_unusual(measured, begin, begin + 3) is unusual


def test_what_grows_anyway_is_not_stated():
    assert beside(rows(jobs=[float(number) for number in range(60)]), 50) == ()


def test_names_are_no_numbers():
    facts = pd.DataFrame(
        {
            "firmware": ["1.2", "1.3", "1.2", "1.4", "1.5"],
            "jobs": ["1", "2", "3", "4", "5"],
            "fill": [70.0, 70.0, 70.0, np.nan, 70.0],
            "odd": ["1", "2", "3", "nan", "5"],
            "hex": ["1", "2", "3", "4", "a5"],
            "huge": ["1", "2", "3", "1e999", "5"],
            "empty": [np.nan] * 5,
        }
    )
    assert numeric(facts) == ["jobs", "fill"]
    assert numeric(facts.iloc[:4]) == ["fill"]  # four values may be names


def test_file_systems_that_differ_in_a_fact_are_stated_each():
    one, other = rows(fill=filling(20, DURING)), rows(fill=[50.5] * 26).assign(file_system="home")
    assert beside(pd.concat([one, other], ignore_index=True), 20) == ("fill of scratch: 70 to 81 -> 92 to 95",)
    same = one.assign(file_system="home")
    assert beside(pd.concat([one, same], ignore_index=True), 20) == ("fill: 70 to 81 -> 92 to 95",)


def test_a_cause_is_what_most_sessions_had_until_the_next_change(tmp_path):
    """For 20 nights another library with half the value, then back for 100 nights, which are most of those since."""
    libraries = ["A"] * 40 + ["B"] * 20 + ["A"] * 100
    made = [
        session([case({"b_eff": (500.0 if library == "B" else 1000.0, "MByte/s")}, mpi_library=library)], night(number))
        for number, library in enumerate(libraries)
    ]
    events = json.loads(run("check-history", database(tmp_path / "results.db", made), "--json").stdout)["events"]
    assert [event["changed"] for event in events] == [["MPI library: A -> B"], ["MPI library: B -> A"]]


def test_numbers_are_no_circumstances_that_change_from_night_to_night():
    table = rows(fill=filling(20, DURING), library=["A"] * 20 + ["B"] * 6).assign(
        **dict.fromkeys(["kernel_version", "mpi_library", "spack_hash", "git_revision", "hosts"], "")
    )
    assert circumstances(table)["what"].tolist() == ["library"]
    assert causes(table, 20) == ["library: A -> B"]


def test_fractions_that_other_tests_record_are_facts():
    facts = recorded({"fill": 71.0, "odd": float("nan"), "flag": True, "size": 3, "text": "a"}, [], {})
    assert facts == {"fill": 71.0, "flag": "True", "size": "3", "text": "a"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1 must name the columns"),
        ("time\n", "line 1 must name the columns"),
        ("fill,time\n", "line 1 must name the columns"),
        ("time,fill,fill\n", "line 1 must name the columns"),
        ("time,fill\n2026-01-01,1\n2026-01-02\n", "line 3 has 1 values, line 1 has 2"),
        ("time,fill\nyesterday,1\n", "line 2: 'yesterday' is not a time"),
        ("time,fill\n1e30,1\n", "line 2: '1e30' is not a time"),
        ("time,fill\n0001-01-01T00:00+01:00,1\n", "line 2: '0001-01-01T00:00+01:00' is not a time"),
    ],
)
def test_a_file_of_facts_that_cannot_be_used_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / "facts.csv"
    path.write_text(text)
    with pytest.raises(SiteFileError, match=re.escape(said)):
        read_facts(path)
    stored = database(tmp_path / "results.db", nights([1000.0]))
    assert said in " ".join(run("check-history", stored, "--facts", path).stderr.replace("│", "").split())


@pytest.mark.parametrize(
    "begin", ["2026-01-01T02:00:00+00:00", "2026-01-01 03:00+01:00", "2026-01-01T02:00", "1767232800", "1767232800000"]
)
@pytest.mark.parametrize(("hours", "known"), [(12, True), (-12, True), (12.1, False), (-12.1, False)])
def test_a_session_has_the_values_of_at_most_12_hours_before_or_after_its_begin(tmp_path, begin, hours, known):
    path = tmp_path / "facts.csv"
    path.write_text(f"Time,fill,note\n{begin},71.5,\n")
    table = rows(library=["A"])
    table["session_time"] += pd.Timedelta(hours=hours)
    found = json.loads(with_facts(table, read_facts(path))["facts"].iloc[0])
    assert found == {"library": "A"} | ({"fill": "71.5"} if known else {})


def test_of_two_values_the_nearer_one_counts_and_of_one_time_the_last(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("time,fill\n2026-01-01T04:00,3\n2026-01-01T01:00,1\n2026-01-01T01:00,2\n")
    assert with_facts(rows(library=["A"]), read_facts(path))["facts"].tolist() == ['{"fill":"2","library":"A"}']
