# SPDX-License-Identifier: Apache-2.0
"""Events name the slow nodes that explain them, and no others: histories of which the slow nodes are known."""

import json
from xml.etree import ElementTree

import pandas as pd
import pytest
from commands import run
from sessions_made import case, database, each_night, night, steady, table_of

from coffeecup.postprocess.history.change_points import findings, session_values
from coffeecup.postprocess.history.events import BETTER, UNKNOWN, WORSE, events
from coffeecup.postprocess.history.explanations import explained
from coffeecup.postprocess.history.nodes import COLUMNS

BEGIN, NIGHTS = 20, 26
HOSTS = ["x0", "x1", "x2"]


def level(number, seed, factor):
    return steady(NIGHTS, 1000.0, 0.01, seed)[number] * (factor if number >= BEGIN else 1)


def nights(factor=0.7, series=1, unit="MByte/s", metric="b_eff", effects=lambda number: {}):
    """b_eff on some sizes, each on hosts of its own but for x0, changes on night BEGIN."""

    def measured(number, place):
        hosts = HOSTS if place == 0 else [f"y{place}", f"z{place}"]
        found = effects(number) if place == 0 else {}
        value = {metric: (level(number, place, factor), unit)}
        return case(value, processes=2 + place, job_nodelist=hosts, node_effects=found)

    return each_night(NIGHTS, lambda number: [measured(number, place) for place in range(series)])


@pytest.fixture(scope="module")
def found_in(tmp_path_factory):
    """A function of the arguments of nights(): the only event of that history, and the values."""
    known = {}

    def found(**how):
        key = tuple(how.items())
        if key not in known:
            values = session_values(table_of(tmp_path_factory.mktemp("history"), nights(**how)))
            [event] = events(values, findings(values))
            assert event.since == night(BEGIN)
            known[key] = event, values
        return known[key]

    return found


def named(slow, confirmed=(), names=("x0.cluster", "x1.cluster", "x9.cluster"), examined=range(NIGHTS)):
    """The table of nodes of which `slow` has the nights that named each, and `confirmed` those that confirmed it."""
    rows = [
        (
            str(number),
            night(number),
            "local",
            "b_eff",
            name,
            1.0,
            1.0,
            number in slow.get(name, ()),
            number in confirmed,
            "",
            0.0,
        )
        for number in examined
        for name in names
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def nodes_of(found, table):
    event, values = found
    [after] = explained([event], table, values)
    return [node.name for node in after.nodes]


def test_the_node_that_became_slow_with_the_event_is_named(found_in):
    table = named({"x1.cluster": range(BEGIN, NIGHTS)})
    event, values = found_in()
    [after] = explained([event], table, values)
    [node] = after.nodes
    assert (node.name, node.since, node.sessions, node.confirmed) == ("x1.cluster", night(BEGIN), 6, False)
    assert after.name == event.name


def test_an_event_that_no_node_explains_names_none(found_in):
    assert nodes_of(found_in(), named({})) == []
    assert nodes_of(found_in(), named({}, examined=())) == []


@pytest.mark.parametrize(("begin", "names"), [(-3, []), (-2, ["x0.cluster"]), (2, ["x0.cluster"]), (3, [])])
def test_a_node_that_became_slow_more_than_two_sessions_away_is_not_named(found_in, begin, names):
    assert nodes_of(found_in(), named({"x0.cluster": range(BEGIN + begin, NIGHTS)})) == names


@pytest.mark.parametrize(("every", "names"), [(5, ["x0.cluster"]), (1, [])])
def test_a_node_that_is_examined_seldom_became_slow_since_it_was_examined_last(found_in, every, names):
    """Night 24 names it first: if it was not examined since night 19, it may have been slow since night 20."""
    examined = [number for number in range(NIGHTS) if (number - 19) % every == 0 or number >= 24]
    assert nodes_of(found_in(), named({"x0.cluster": range(24, NIGHTS)}, examined=examined)) == names


def test_a_node_that_was_slow_whenever_it_was_examined_may_be_so_since_the_event(found_in):
    assert nodes_of(found_in(), named({"x0.cluster": range(24, NIGHTS)}, examined=range(24, NIGHTS))) == ["x0.cluster"]


def test_a_node_on_other_hosts_is_not_named(found_in):
    assert nodes_of(found_in(), named({"x9.cluster": range(BEGIN, NIGHTS)})) == []


@pytest.mark.parametrize(("sessions", "names"), [(1, []), (2, ["x0.cluster"])])
def test_a_node_that_was_named_once_explains_nothing(found_in, sessions, names):
    assert nodes_of(found_in(), named({"x0.cluster": range(BEGIN, BEGIN + sessions)})) == names


@pytest.mark.parametrize(("series", "names"), [(2, ["x0.cluster"]), (3, [])])
def test_a_node_explains_an_event_of_which_half_of_the_series_ran_on_it(found_in, series, names):
    assert nodes_of(found_in(series=series), named({"x0.cluster": range(BEGIN, NIGHTS)})) == names


def test_two_nodes_are_named_the_confirmed_one_first(found_in):
    slow = named({"x0.cluster": range(BEGIN, NIGHTS), "x1.cluster": range(BEGIN + 1, NIGHTS)})
    slow["confirmed"] = (slow["node"] == "x1.cluster") & (slow["session_time"] == night(NIGHTS - 1))
    event, values = found_in()
    [after] = explained([event], slow, values)
    assert [(node.name, node.confirmed) for node in after.nodes] == [("x1.cluster", True), ("x0.cluster", False)]


@pytest.mark.parametrize(
    ("how", "direction", "names"),
    [
        ({"factor": 0.7}, WORSE, ["x0.cluster"]),
        ({"factor": 1.4}, BETTER, []),
        ({"factor": 1.4, "metric": "odd", "unit": "parts"}, UNKNOWN, ["x0.cluster"]),
    ],
)
def test_a_slow_node_explains_no_improvement(found_in, how, direction, names):
    event, _ = found_in(**how)
    assert event.direction == direction
    assert nodes_of(found_in(**how), named({"x0.cluster": range(BEGIN, NIGHTS)})) == names


def effects(number):
    """What the check stores: x1 is slow from night BEGIN on, and confirmed in the last one."""
    slow = ["x1.cluster"] * (number >= BEGIN)
    values = {f"{name}.cluster": [0.7 if [f"{name}.cluster"] == slow else 1.0, 0.7, 1.0, 0, 16] for name in HOSTS}
    confirmed = slow * (number == NIGHTS - 1)
    return {"verdict": "", "suspects": slow, "confirmed": confirmed, "values": values}


@pytest.mark.slow
def test_every_output_names_the_node(tmp_path):
    sessions = database(tmp_path / "results.db", nights(effects=effects))
    text = "Slow node there: x1.cluster (confirmed, since 2026-01-21 02:00 UTC)"
    assert text in run("check-history", sessions).stdout and text in run("history", sessions).stdout
    filtered = run("history", sessions, "--metric", "b_eff").stdout
    assert text in filtered
    [event] = json.loads(run("check-history", sessions, "--json").stdout)["events"]
    since = night(BEGIN).isoformat()
    assert event["nodes"] == [{"node": "x1.cluster", "since": since, "sessions": 6, "confirmed": True}]
    page, junit, metrics = tmp_path / "site.html", tmp_path / "junit.xml", tmp_path / "metrics.prom"
    assert run("site", "report", sessions, "-o", page).exit_code == 0 and text in page.read_text()
    assert run("export", sessions, "--junit", junit, "--openmetrics", metrics).exit_code == 0
    assert text in ElementTree.parse(junit).find(".//failure").get("message")
    line = f'coffeecup_event_slow_node{{system="local",event="{event["event"]}",node="x1.cluster"}} 1.0'
    assert line in metrics.read_text().splitlines()


def test_no_output_names_a_node_without_one(tmp_path):
    sessions = database(tmp_path / "results.db", nights())
    done = run("check-history", sessions)
    assert "REGRESSION" in done.stdout and "Slow node" not in done.stdout
    metrics = tmp_path / "metrics.prom"
    assert run("export", sessions, "--openmetrics", metrics).exit_code == 0
    assert "coffeecup_event_slow_node{" not in metrics.read_text()
