# SPDX-License-Identifier: Apache-2.0
"""Thresholds of the history from both sides, with literals: intervals, verdicts, trends, changes of level and
suspicions."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import run
from scipy import stats
from sessions_made import case, database, each_night, night, nights, session, steady, table_of, values_of
from test_history import HIGHER

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import (
    Change,
    Rule,
    changes,
    described,
    findings,
    level,
    line,
    recovered,
    relative,
    session_values,
    site_of,
)
from coffeecup.postprocess.history.comparable import changed_units, same_unit
from coffeecup.postprocess.history.figures import trends
from coffeecup.postprocess.history.levels import Shift
from coffeecup.postprocess.history.standing import newest, scaling, standing, trend, verdict
from coffeecup.postprocess.history.suspicions import suspicions
from coffeecup.postprocess.history.table import SERIES, case_table, history_table
from coffeecup.postprocess.sessions.files import read_reports

LOWER = Rule(Better.LOWER)
NEITHER = Rule(Better.NEITHER)


def alternating(count, middle=1000.0, apart=1.0):
    """Values that lie above and below `middle` in turn."""
    return [middle + (apart if place % 2 else -apart) for place in range(count)]


# --- where a metric stands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "lower", "upper", "outcome", "expected"),
    [
        (900.0, 900.0, 1100.0, "pass", "pass"),
        (899.9, 900.0, 1100.0, "pass", "fail"),
        (1100.0, 900.0, 1100.0, "pass", "pass"),
        (1100.1, 900.0, 1100.0, "pass", "fail"),
        (1e9, 900.0, np.nan, "pass", "pass"),
        (899.9, 900.0, np.nan, "pass", "fail"),
        (0.0, np.nan, 1100.0, "pass", "pass"),
        (1100.1, np.nan, 1100.0, "pass", "fail"),
        (1000.0, np.nan, np.nan, "pass", "no reference"),
        (800.0, 900.0, 1100.0, "expected failure", "expected failure"),
        (1000.0, 900.0, 1100.0, "unexpected pass", "unexpected pass"),
    ],
)
def test_a_value_at_its_bound_passes(value, lower, upper, outcome, expected):
    assert verdict(pd.Series({"value": value, "lower": lower, "upper": upper, "outcome": outcome})) == expected


def test_twelve_sessions_are_enough_for_a_trend():
    assert [trend(series_of([1.0] * count), []) for count in (11, 12)] == ["too few sessions", "steady"]


def series_of(measured):
    """Rows of session_values of one series without a change."""
    time = [night(number) for number in range(len(measured))]
    return pd.DataFrame({"session_time": time, "value": measured, "hosts": "n1", "unit": "MByte/s"})


@pytest.mark.parametrize(
    ("loss", "spread", "words"),
    [
        (0.11, 0.01, "undecided since 2026-01-13: -11.0%"),
        (0.09, 0.01, "steady"),  # smaller than VISIBLE
        (0.11, 0.2, "steady"),  # the noise explains it
    ],
)
def test_a_step_that_a_reader_sees_is_not_steady(loss, spread, words):
    """Twelve sessions around 1000 and six lower, in which no change was found."""
    measured = 1000 * (1 + spread * np.tile([1.0, -1.0, 0.0], 6))
    measured[12:] *= 1 - loss
    assert trend(series_of(measured), []) == words


@pytest.mark.parametrize(
    ("alarms", "recovered", "words"),
    [
        (True, False, "worse since 2026-01-31: -12.5%"),
        (False, False, "changed since 2026-01-31: -12.5%"),
        (False, True, "changed since 2026-01-31: -12.5%, recovered"),
    ],
)
def test_the_trend_names_the_last_change(alarms, recovered, words):
    found = {"alarms": alarms, "regression": alarms or recovered, "suspect": alarms or recovered, "accepted": False}
    found |= {"time": pd.Timestamp("2026-01-31"), "change": SimpleNamespace(relative=-0.125), "recovered": recovered}
    assert trend(pd.DataFrame(index=range(20)), [SimpleNamespace(), SimpleNamespace(**found)]) == words


def standing_of(tmp_path, sessions, found=lambda values: []):
    """The values of made sessions and where they stand with the changes that are `found` in them."""
    reports = read_reports([database(tmp_path / "results.db", sessions)])
    values = session_values(history_table(reports))
    return values, standing(values, found(values), case_table(reports))


def test_the_last_value_is_judged_and_the_level_is_that_of_all_sessions(tmp_path):
    measured = [1000.0, 1040.0, 1010.0, 700.0]
    made = each_night(4, lambda n: [case({"b_eff": (measured[n], 1000.0, -0.1, None, "MByte/s", "pass")})])
    [row] = standing_of(tmp_path, made)[1].itertuples()
    assert (row.last, row.time, row.verdict) == (700, night(3), "fail")
    assert (row.median, row.sessions, row.trend) == (1005, 4, "too few sessions")


UNITS = ((1000.0, 12, "MByte/s"), (2.0, 12, "GByte/s"), (1.0, 12, "GByte/s"))  # level, sessions, unit
SHORT = (UNITS[0], (1.0, 4, "GByte/s"))


def units_changed(parts):
    made, first = [], 0
    for usual, count, unit in parts:
        made += nights([usual * (1 + 0.001 * (number % 4)) for number in range(count)], unit=unit, first=first)
        first += count
    return made


@pytest.mark.parametrize(
    ("parts", "level", "low", "high", "sessions", "words"),
    [
        (UNITS, 1.0015, 1.0, 1.003, 12, "worse since 2026-01-25: -50.0%"),
        (UNITS[:2], 2.003, 2.0, 2.006, 12, "steady"),
        (SHORT, 1.0015, 1.0, 1.003, 4, "too few sessions"),
    ],
)
def test_sessions_in_another_unit_enter_no_level(tmp_path, parts, level, low, high, sessions, words):
    [row] = standing_of(tmp_path, units_changed(parts), findings)[1].itertuples()
    assert (row.median, row.low, row.high) == pytest.approx((level, low, high))
    assert (row.unit, row.sessions, row.trend) == ("GByte/s", sessions, words)


def test_values_in_another_unit_are_in_no_text_and_no_figure(tmp_path):
    made = units_changed(SHORT)
    values, table = standing_of(tmp_path, made)
    assert newest(values, table)[["earlier", "sessions"]].to_numpy().tolist() == [[pytest.approx(1.001), 3]]
    [figure] = trends(values, [])
    assert list(figure.data["unit"]) == ["GByte/s"] * 4 and "median 1.002 GByte/s" in figure.description
    stored = database(tmp_path / "again.db", made)
    assert "1 metric over time; 1 of them not judged" in run("check-history", stored).stdout
    assert run("site", "report", stored, "-o", tmp_path / "site.html").exit_code == 0
    [sparkline] = re.findall(r'<polyline points="(.*?)"', (tmp_path / "site.html").read_text())
    assert len(sparkline.split()) == 4
    text = run("history", stored).stdout
    assert "4 sessions, last 1.003 GByte/s, median 1.002, 1 to 1.003, no reference" in text


def test_an_episode_enters_no_level(tmp_path):
    """Five low sessions of 30."""
    usual = steady(25, spread=0.01)
    made = nights([*usual[:20], *steady(5, 700.0, 0.01), *usual[20:]])
    [row] = standing_of(tmp_path, made, findings)[1].itertuples()
    assert (row.median, row.sessions, row.trend) == (np.median(usual), 25, "steady")


def test_the_metrics_of_a_test_stand_in_the_order_of_its_benchmark(tmp_path):
    """Whatever their order in the session, after the smaller size; those that the benchmark does not have are last. One
    session is enough."""
    metrics = {"aside": (1.0, "s"), "ping_pong_latency": (2.0, "us"), "b_eff": (1000.0, "MByte/s")}
    table = standing_of(tmp_path, [session([case(metrics, processes=4), case(metrics)])])[1]
    names = ["b_eff", "ping_pong_latency", "aside"]
    assert [*zip(table["processes"], table["metric"])] == [(size, name) for size in (2, 4) for name in names]


def test_the_newest_session_stands_beside_the_median_of_the_earlier_ones(tmp_path):
    """Headlines only. Four processes are measured for the first time, eight were not in the newest session."""
    sizes = {0: (2, 8), 1: (2,), 2: (2,), 3: (2, 4)}

    def measured(number, size):
        rate = 100.0 * size + number
        return case({"ping_pong_latency": (1.0, "us"), "b_eff": (rate, "MByte/s")}, processes=size)

    sessions = each_night(4, lambda number: [measured(number, size) for size in sizes[number]])
    front = newest(*standing_of(tmp_path, sessions))
    rows = front[["processes", "metric", "value", "sessions"]].to_numpy().tolist()
    assert rows == [[2, "b_eff", 203, 3], [4, "b_eff", 403, 0]]
    assert front["earlier"].iloc[0] == 201 and np.isnan(front["earlier"].iloc[1])


def test_two_sizes_show_how_a_bandwidth_scales_and_one_does_not(tmp_path):
    """100 MByte/s of each of 2 processes, 50 of each of 4."""
    rates = [case({"b_eff": (200.0, "MByte/s")}, processes=size) for size in (2, 4)]
    alone = case({"b_eff_io": (200.0, "MByte/s")}, benchmark="b_eff_io")
    table = scaling(standing_of(tmp_path, [session([*rates, alone])])[1])
    rows = table[["benchmark", "per_process", "efficiency"]].to_numpy().tolist()
    assert rows == [["b_eff", 100, 1], ["b_eff", 50, 0.5]]


# --- changes of level -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "rule", "expected"),
    [
        ([4.0, 1.0, 3.0, 2.0], HIGHER, 3.0),
        ([4.0, 1.0, 3.0, 2.0], LOWER, 2.0),
        ([4.0, 1.0, 3.0, 2.0], NEITHER, 2.5),
        ([3.0, 1.0, 2.0], HIGHER, 2.0),
        ([3.0, 1.0, 2.0], LOWER, 2.0),
        ([7.0], LOWER, 7.0),
    ],
)
def test_of_two_middle_values_the_level_is_the_better_one(values, rule, expected):
    assert level(np.array(values), rule) == expected


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(5.0, 5.0, 0.0), (0.0, 0.0, 0.0), (4.0, 5.0, 0.25), (-2.0, -1.0, 0.5), (0.0, 5.0, np.inf), (0.0, -5.0, -np.inf)],
)
def test_a_change_is_a_fraction_of_the_size_of_the_old_level(before, after, change):
    assert relative(before, after) == change


def test_an_excursion_does_not_tilt_a_line():
    assert line(np.arange(10.0)) == (0.0, 9.0)
    assert line(np.array([5.0, 4, 3, 2, 1, 500, -1, -2, -3, -4])) == pytest.approx((5.0, -4.0))


@pytest.mark.parametrize(
    ("better", "smallest", "today", "expected"),
    [
        # 2 % of the old level
        (Better.HIGHER, 0.02, 980.1, True),
        (Better.HIGHER, 0.02, 979.9, False),
        (Better.HIGHER, 0.02, 1100.0, True),
        (Better.LOWER, 0.02, 1019.9, True),
        (Better.LOWER, 0.02, 1020.1, False),
        (Better.LOWER, 0.02, 900.0, True),
        (Better.UNKNOWN, 0.02, 980.1, True),
        (Better.UNKNOWN, 0.02, 979.9, False),
        (Better.UNKNOWN, 0.02, 1019.9, True),
        (Better.UNKNOWN, 0.02, 1020.1, False),
        # two standard errors: 2 * 1.4826 * sqrt(1 / 20 + 1 / 10) = 1.1484
        (Better.HIGHER, 0.001, 998.86, True),
        (Better.HIGHER, 0.001, 998.84, False),
    ],
)
def test_a_level_has_recovered_up_to_the_smallest_change_or_two_standard_errors(better, smallest, today, expected):
    """20 sessions that lie 1 above and below 1000, then a lower level, then 10 sessions of today's."""
    measured = np.array([*alternating(20), *alternating(10, 800.0), *alternating(10, today)])
    change = Change(20, 24, -6.0, 1000.0, 800.0, drift=False, between=(20, 20), dated=20)
    assert recovered(measured, Rule(better, smallest), change, today, 30) == expected


@pytest.mark.parametrize(("before", "found"), [(7, []), (8, [8])])
def test_eight_sessions_establish_a_level(before, found):
    values = np.array([*alternating(before), *alternating(12, 800.0)])
    assert [change.index for change in changes(values, HIGHER)] == found


@pytest.mark.parametrize(("after", "found"), [(3, []), (4, [20])])
def test_four_sessions_are_a_new_level(after, found):
    values = np.array([*alternating(20), *alternating(after, 800.0)])
    assert [change.index for change in changes(values, HIGHER)] == found


@pytest.mark.parametrize(
    ("drop", "smallest", "found"), [(0.018, 0.02, 0), (0.022, 0.02, 1), (0.19, 0.2, 0), (0.21, 0.2, 1)]
)
def test_a_change_smaller_than_the_smallest_is_not_reported(drop, smallest, found):
    values = np.array([*alternating(20), *alternating(20, 1000.0 * (1 - drop))])
    rule = Rule(Better.HIGHER, smallest)
    assert len(changes(values, rule)) == found
    for change in changes(values, rule):
        assert (change.before, change.after) == (1001, pytest.approx(1000 * (1 - drop) + 1))
        assert change.relative == pytest.approx(change.after / 1001 - 1) and change.p_value < 1e-4


@pytest.mark.parametrize(("back", "recovered"), [(979.0, False), (983.0, True)])
def test_a_regression_has_recovered_within_the_smallest_change_of_its_level(tmp_path, back, recovered):
    numbers = [*alternating(20), *alternating(16, 700.0), *alternating(10, back)]
    first = findings(values_of(tmp_path, nights(numbers)))[0]
    assert first.regression and (first.recovered, first.alarms) == (recovered, not recovered)


@pytest.mark.parametrize("deviate", [3.0, 12.0])
def test_the_probability_of_a_change_is_that_of_both_tails(deviate):
    [change] = described(np.array([2.0] * 10 + [1.0] * 10), [Shift(10, 14, -deviate, drift=False, ended=10)], HIGHER)
    assert change.p_value == pytest.approx(2 * stats.norm.sf(deviate), rel=1e-9, abs=0)


def test_a_unit_that_changed_is_told_with_its_first_session(tmp_path):
    """The series begins anew there; another one has the same unit in all sessions."""
    units = ["GByte/s"] * 3 + ["MByte/s"] * 3 + ["GByte/s"] * 3
    sessions = each_night(9, lambda number: [case({"b_eff": (1.0, units[number]), "l_max": (1.0, "MiB")})])
    values = values_of(tmp_path, sessions)
    [change] = changed_units(values)
    assert (change["metric"], change["was"], change["unit"]) == ("b_eff", "MByte/s", "GByte/s")
    assert change["since"] == night(6)
    assert len(same_unit(values[values["metric"] == "b_eff"])) == 3


def test_series_of_any_length_are_judged_from_twelve_sessions_on(tmp_path):
    """Three metrics that halve in the 31st of 40 sessions, of which one has been measured for 20 sessions, and one for
    11."""
    begins = {"b_eff": 0, "ping_pong_bandwidth": 20, "b_eff_at_l_max": 29}

    def cases(n):
        value = (1.0 if n < 30 else 0.5) + 0.001 * (n % 2)
        yield case({metric: (value, "MByte/s") for metric, begin in begins.items() if n >= begin})

    sessions = each_night(40, cases)
    site = site_of(session_values(table_of(tmp_path, sessions)))
    assert {len(one.measured): len(one.shifts) for one in site.levels} == {40: 1, 20: 1}


# --- suspicions -------------------------------------------------------------------------------------------------------


def suspected(folder, numbers, metric="b_eff", unit="MByte/s"):
    values = values_of(folder, nights(numbers, metric, unit))
    return [(row.value, row.level, row.relative) for row in suspicions(values, []).itertuples()]


@pytest.mark.parametrize(
    ("before", "last", "suspect"),
    [
        ([1000.0] * 8, 969.0, True),
        ([1000.0] * 8, 971.0, False),
        ([1000.0] * 7, 500.0, False),
        (alternating(16, apart=50.0), 777.0, True),  # 3 * 1.4826 * 50 = 222.39
        (alternating(16, apart=50.0), 778.0, False),
        ([1000.0] * 8, 2000.0, False),
    ],
)
def test_the_last_session_is_suspected_beyond_the_smallest_regression_and_the_spread(tmp_path, before, last, suspect):
    assert suspected(tmp_path, [*before, last]) == ([(last, 1000, last / 1000 - 1)] if suspect else [])


@pytest.mark.parametrize(("last", "suspect"), [(1029.0, False), (1031.0, True), (500.0, False)])
def test_a_latency_is_suspected_if_it_grows(tmp_path, last, suspect):
    found = suspected(tmp_path, [*[1000.0] * 8, last], "ping_pong_latency", "us")
    assert found == ([(last, 1000, last / 1000 - 1)] if suspect else [])


def test_a_metric_without_a_direction_is_never_suspected(tmp_path):
    assert suspected(tmp_path, [*[1000.0] * 8, 1.0], "l_max", "MiB") == []


def test_a_series_that_cannot_be_suspected_hides_no_other(tmp_path):
    cases = [case({"l_max": (1.0, "MiB"), "b_eff": (value, "MByte/s")}) for value in [*[1000.0] * 8, 900.0]]
    values = session_values(table_of(tmp_path, each_night(9, lambda number: [cases[number]])))
    values = values.sort_values("metric", ascending=False, kind="stable")
    assert list(suspicions(values, [])["metric"]) == ["b_eff"]


@pytest.mark.parametrize(("suspect", "recovered", "left_out"), [(1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_what_is_worse_already_is_no_suspicion(tmp_path, suspect, recovered, left_out):
    values = values_of(tmp_path, nights([*[1000.0] * 8, 900.0]))
    series = values.groupby(SERIES, sort=False, observed=True).first().reset_index()[SERIES].iloc[0].to_dict()
    known = SimpleNamespace(series=series, suspect=bool(suspect), recovered=bool(recovered))
    assert suspicions(values, [known]).empty is bool(left_out)
