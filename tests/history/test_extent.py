# SPDX-License-Identifier: Apache-2.0
"""The extent of events by parameters, their identity over mornings, and how they end: small histories made by hand."""

import json
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from commands import run
from sessions_made import database, each_night, night, steady, table_of, values_of

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, changes, findings
from coffeecup.postprocess.history.events import BETTER, ENDED, WORSE, events, extent, near, parts
from coffeecup.postprocess.history.site_files import Acknowledgement

RULE = Rule(Better.HIGHER)
GRID = [dict(zip("abc", values)) for values in product("12", repeat=3)]


def other(values, number, **parameters):
    """A test of another suite, known by its name alone."""
    words = "".join(f" %{name}={value}" for name, value in parameters.items())
    made = {"name": f"io{words}", "system": "cluster", "partition": "all", "environ": "gnu", "num_tasks": 4}
    made |= {"result": "pass", "fixture": False, "job_nodelist": ["n1"]}
    made |= {"job_completion_time_unix": night(number).timestamp() + 60}
    return made | {"perfvalues": {"cluster:all:rate": [values[number], 0, None, None, "MB/s", "pass"]}} | parameters


def found_in(tmp_path, sessions):
    values = values_of(tmp_path, sessions)
    return events(values, findings(values))


def site(count, factor, **fixed):
    """Nights of tests with an operation, a kind of files and a file system; `factor` of them and a night."""
    every = list(product(("read", "write"), ("one", "each"), ("home", "scratch")))
    levels = [steady(count, 1000.0, 0.01, seed) for seed in range(len(every))]

    def of_night(number):
        for level, names in zip(levels, every):
            values = [value * factor(*names, number=night) for night, value in enumerate(level)]
            yield other(values, number, **dict(zip(("operation", "files", "file_system"), names)) | fixed)

    return each_night(count, of_night)


@pytest.mark.parametrize(
    ("wanted", "where"),
    [
        ({"a": "1"}, {"a": "1"}),
        ({"a": "1", "c": "2"}, {"a": "1", "c": "2"}),
        ({"a": "2", "b": "1", "c": "2"}, {"a": "2", "b": "1", "c": "2"}),
        ({}, {}),
    ],
    ids=str,
)
def test_the_extent_is_the_smallest_set_of_parameters_that_tells_the_affected(wanted, where):
    inside = [one for one in GRID if wanted.items() <= one.items()]
    assert extent(inside, [one for one in GRID if one not in inside]) == where


def test_what_a_later_attribute_makes_unnecessary_is_left_out():
    """`a` excludes most at first (4 of 6), but `b` and `c` are needed anyway and exclude all that `a` does."""
    affected = [{"a": "1", "b": "1", "c": "1"}]
    others = [dict(zip("abc", values)) for values in ("221", "221", "212", "212", "112", "121")]
    assert extent(affected, others) == {"b": "1", "c": "1"}


def test_an_attribute_that_is_empty_or_missing_tells_nothing():
    assert extent([{"a": "", "b": "1"}], [{"a": "x"}, {"a": "y", "b": "2"}]) == {"b": "1"}


def test_an_event_of_another_suite_is_where_its_parameters_are(tmp_path):
    """Reads of one file lose a third, on both file systems."""
    made = site(26, lambda *of, number: 0.7 if of[:2] == ("read", "one") and number > 19 else 1)
    done = run("check-history", database(tmp_path / "results.db", made))
    [line] = [line for line in done.output.splitlines() if line.startswith("REGRESSION")]
    assert line.startswith(
        "REGRESSION: operation=read files=one of cluster: 2 of 2 metrics there, and 0 of the other 6, "
    )
    assert "    event: cluster/2026-01-21/worse/operation=read,files=one\n" in done.output


@pytest.mark.parametrize("variable", [False, True])
def test_another_suite_states_its_file_system_as_a_parameter_or_a_variable(tmp_path, variable):
    made = site(2, lambda *_, number: 1)
    for one in made:
        for case in one["runs"][0]["testcases"]:
            if variable:
                case["name"] = case["name"].replace(" %file_system=home", "").replace(" %file_system=scratch", "")
    assert sorted(set(table_of(tmp_path, made)["file_system"])) == ["home", "scratch"]


READ_ONE, EACH = [("read", "one", "home"), ("read", "one", "scratch")], ("write", "each", "scratch")


@pytest.mark.parametrize(
    ("affected", "scopes"),
    [
        ([*READ_ONE, EACH], {"operation=read files=one": (1, 6), "series": (2, 7)}),
        ([*READ_ONE, EACH, ("write", "each", "home")], {"everything": (0, 0)}),
    ],
    ids=["3 of 8", "4 of 8"],
)
def test_less_than_half_of_a_place_is_divided(tmp_path, affected, scopes):
    """Two kinds of tests lose at the same time; half of all is one event."""
    found = found_in(tmp_path, site(26, lambda *of, number: 0.7 if of in affected and number > 19 else 1))
    assert {event.scope: event.others for event in found} == scopes


@pytest.mark.parametrize(("there", "divided"), [(4, [2, 1]), (5, [3])])
def test_a_part_is_at_least_half_of_its_own_place(there, divided):
    """Three series change, less than half of all; two of them are among the `there` series on file system 1."""
    names = [*(f"1{n}" for n in range(there)), *(f"2{n}" for n in range(5))]
    known = {(name,): {"fs": name[0], "name": name} for name in names}
    changed = [SimpleNamespace(series={"name": name}) for name in ("10", "11", "20")]
    assert [len(part) for part in parts(known, changed)] == divided


@pytest.mark.parametrize(
    ("later", "previous", "same"), [(22, 21, True), (23, 22, False), (27, 21, True), (27, 22, False)]
)
def test_changes_of_one_event_are_at_most_two_sessions_apart(later, previous, same):
    """A change in session 20, and one since the `previous` session of a test that may run every week."""
    made = [SimpleNamespace(time=later, previous=previous), SimpleNamespace(time=20, previous=19)]
    groups = near(made, {number: number for number in range(40)})
    assert [len(group) for group in groups] == ([2] if same else [1, 1])


# --- identity ---------------------------------------------------------------------------------------------------------


def test_an_event_keeps_its_date_and_its_acknowledgement_morning_by_morning():
    """Losses of 5 % with 3 % noise: the likeliest date of some moves. The stated one does not while it is between the
    dates, and what was acknowledged on the first morning is the event of each later one."""
    said = {"system": "s", "who": "a", "why": "b", "direction": "worse", "until": night(90).date()}
    moved = []
    for seed in range(9, 15):
        values = np.array([*steady(30, seed=seed), *steady(30, 950, seed=100 + seed)])
        mornings = [found[0] for count in range(36, 61) if (found := changes(values[:count], RULE))]
        for before, after in pairwise(mornings):
            assert after.dated == before.dated or not after.between[0] <= before.dated <= after.between[1]
            moved.append(after.index != before.index)
        entry = Acknowledgement(since=night(mornings[0].dated).date(), **said)
        assert all(entry.near([night(place).date() for place in morning.between]) for morning in mornings)
    assert any(moved), "in none of these histories the likeliest date moves"


def test_an_event_keeps_its_name_when_it_spreads(tmp_path):
    """One file system loses a third, the other one two nights later, and is detected later."""

    def factor(_, __, system, *, number):
        return 0.7 if number >= (20 if system == "home" else 22) else 1

    for count in (25, 28):
        (tmp_path / str(count)).mkdir()
    names = [
        [(event.name, event.scope) for event in found_in(tmp_path / str(count), site(count, factor)) if event.alarms]
        for count in (25, 28)
    ]
    assert names == [
        [("cluster/2026-01-21/worse/file_system=home", "file_system=home")],
        [("cluster/2026-01-21/worse/file_system=home", "everything")],
    ]


# --- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("middle", "later", "ends"),
    [
        (800, 946, [("", ""), ("", "")]),
        (800, 954, [("back", ""), ("", "loss")]),
        (800, 1046, [("back", ""), ("", "loss")]),
        (800, 1054, [("back", ""), ("", "")]),
        (1200, 1054, [("", ""), ("", "")]),
        (1200, 1046, [("back", ""), ("", "loss")]),
    ],
)
def test_a_change_is_reverted_if_less_than_a_quarter_of_it_is_left(tmp_path, middle, later, ends):
    """From 1000 to the middle level: 50 are a quarter of the change. Only a return to about 1000 is a revert; what goes
    far beyond it ends the event, and is one of its own."""
    values = [v for level in (1000.0, middle, later) for v in (level - 1, level, level + 1) * 6]
    first, second = found_in(tmp_path, each_night(len(values), lambda n: [other(values, n)]))
    names = {"": "", first.name: "loss", second.name: "back"}
    assert [(names[one.reverted], names[one.reverts]) for one in (first, second)] == ends


def test_an_episode_reverts_nothing_and_is_not_reverted(tmp_path):
    """A loss for good, a week of the old level, and later the return for good: this alone reverts the loss."""
    parts = ((6, 1000), (10, 800), (3, 1000), (6, 800), (6, 1000))
    values = [value for count, level in parts for value in (level, level + 1) * count]
    loss, episode, back = found_in(tmp_path, each_night(len(values), lambda n: [other(values, n)]))
    assert episode.last and (episode.reverts, episode.reverted) == ("", "")
    assert (loss.reverted, back.reverts) == (back.name, loss.name)


def levels(*parts):
    """Nights of one test at these (nights, level)."""
    values = [value for seed, (count, level) in enumerate(parts) for value in steady(count, level, 0.01, seed)]
    return each_night(len(values), lambda number: [other(values, number)])


@pytest.mark.parametrize(
    ("parts", "stated"),
    [
        ([(20, 1000), (4, 800)], ", new, lasting for 4 sessions"),
        ([(20, 1000), (5, 800)], ", ongoing, lasting for 5 sessions"),
        ([(20, 1000), (16, 800), (16, 1000)], ", reverted by cluster/2026-02-06/better/everything after 16 sessions"),
        ([(20, 1000), (16, 800), (16, 900)], ", ended after 16 sessions"),
        ([(20, 1000), (16, 800), (16, 600)], ", worst 599.4, now 599.4, "),  # the better one of the two in the middle
        ([(20, 1000), (8, 800), (16, 1000)], "ended by itself after 8 sessions"),
        ([(20, 1000), (16, 1300), (16, 1000)], ", reverts cluster/2026-01-21/better/everything. "),
    ],
)
def test_a_line_states_how_an_event_stands(tmp_path, parts, stated):
    done = run("check-history", database(tmp_path / "results.db", levels(*parts)))
    line = next(line for line in done.output.splitlines() if line.startswith(("REGRESSION", "recovered", "episode")))
    assert stated in line


def plain(*parts):
    """Nights of one test at these (nights, level), without noise but 1 on every other night."""
    values = [level + number % 2 for count, level in parts for number in range(count)]
    return each_night(len(values), lambda number: [other(values, number)])


def test_a_recovered_event_does_not_revive_when_another_loss_comes(tmp_path):
    """A loss of 30 % for 20 nights, and after its end one of 10 %."""
    parts, stands = ((20, 1000), (20, 700), (20, 1000)), []
    for number, later in enumerate([(), ((6, 900),)]):
        (tmp_path / str(number)).mkdir()
        found = found_in(tmp_path / str(number), plain(*parts, *later))
        stands.append([(one.since, one.state, one.alarms) for one in found if one.direction == WORSE])
    assert stands[0] == [(night(20), ENDED, False)]
    assert stands[1] == [*stands[0], (night(60), "ongoing", True)]


def test_size_duration_and_level_of_today_are_those_of_the_loss(tmp_path):
    """A loss of 99 % for 15 nights, 40 nights after it: no longer, and 2 % are left of it."""
    done = run("check-history", database(tmp_path / "results.db", plain((20, 1000), (15, 10), (40, 970))))
    [line] = [line for line in done.output.splitlines() if line.startswith("REGRESSION")]
    assert "-99.0% since 2026-01-21 02:00 UTC, 1001 -> 10 MB/s, now 971, " in line, line
    assert " after 15 sessions. " in line and "lasting" not in line, line


def test_a_return_is_told_by_the_event_that_it_reverts(tmp_path):
    stored = database(tmp_path / "results.db", levels((20, 1000), (16, 800), (16, 1000)))
    assert "improvement" not in run("check-history", stored).output
    loss, back = json.loads(run("check-history", stored, "--json").stdout)["events"]
    assert (loss["direction"], back["direction"], loss["state"]) == (WORSE, BETTER, ENDED)
    assert (loss["reverted"], back["reverts"], loss["reverts"]) == (back["event"], loss["event"], None)
