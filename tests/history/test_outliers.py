# SPDX-License-Identifier: Apache-2.0
"""The limit of an extreme value by the noise of a site: both sides of its parts, with expected values from counting."""

from datetime import UTC, date, datetime

import numpy as np
import pytest
from sessions_made import case, each_night, values_of

from coffeecup.postprocess.history.change_points import own_rule
from coffeecup.postprocess.history.outliers import farthest, limits
from coffeecup.postprocess.history.site_files import entry_of

SPREAD = 2 / 1.349  # of values that alternate between level - 1 and level + 1, by their quartiles

NOW = datetime(2026, 1, 21, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "expected"), [(100, 99.0), (998, 997.0), (999, 997.0), (1498, 1496.0), (1499, 1496.0), (0, 4.5)]
)
def test_at_most_two_of_a_thousand_values_are_beyond_the_limit(count, expected):
    """Of N values and a new one, each is equally likely to be among the k farthest: k / (N + 1). Of fewer than 999,
    only the farthest counts."""
    assert farthest(np.random.default_rng(1).permutation(np.arange(float(count)))) == expected


def test_a_quiet_site_has_a_limit_of_four_and_a_half_standard_deviations():
    assert farthest(np.full(5000, 4.4)) == 4.5 and farthest(np.full(5000, 4.6)) == 4.6


def found(tmp_path, processes=2, entries=(), **metrics):
    """The limits of b_eff's series on so many processes, NOW, which is after 20 nights; each metric has values on two
    processes, `other` on four."""
    cases = [[] for _ in metrics["b_eff"]]
    other = metrics.pop("other", [])
    for number, cases_of in enumerate(cases):
        units = {"b_eff": "MByte/s", "ping_pong_latency": "us", "l_max": "MiB"}
        cases_of.append(case({name: (values[number], units[name]) for name, values in metrics.items()}))
        if number < len(other):
            cases_of.append(case({"b_eff": (other[number], "MByte/s")}, processes=4))
    values = values_of(tmp_path, each_night(len(cases), cases.__getitem__))
    series = {"benchmark": "b_eff", "processes": processes, "system": "local"}
    known = [entry_of({"system": "local", "who": "operator", "why": "a test"} | entry) for entry in entries]
    return {
        name: (one.level, one.limit, one.sessions) for name, one in limits(values, series, own_rule, known, NOW).items()
    }


def about(level, count=10):
    return [level - 1, level + 1] * count


def test_a_limit_is_on_the_worse_side_of_metrics_with_a_direction(tmp_path):
    made = found(tmp_path, b_eff=about(100.0), ping_pong_latency=about(50.0), l_max=about(8.0))
    assert made == {
        "b_eff": (100.0, pytest.approx(100 - 4.5 * SPREAD), 20),
        "ping_pong_latency": (50.0, pytest.approx(50 + 4.5 * SPREAD), 20),
    }


@pytest.mark.parametrize(("count", "expected"), [(11, {}), (12, {"b_eff": (100.0, 98.0, 12)})])
def test_twelve_sessions_tell_a_limit_which_is_never_closer_than_the_smallest_change(tmp_path, count, expected):
    assert found(tmp_path, b_eff=[100.0] * count) == expected


def test_the_level_is_that_of_today_and_changes_of_level_are_no_noise(tmp_path):
    made = found(tmp_path, b_eff=[*about(100.0), *about(50.0, 5)])
    assert made == {"b_eff": (50.0, pytest.approx(50 - 4.5 * SPREAD), 30)}


@pytest.mark.parametrize(("low", "expected"), [(-20.0, 20.0), (20.0, 4.5 * SPREAD)])
def test_what_other_tests_of_the_site_show_on_the_worse_side_counts(tmp_path, low, expected):
    """One value of another test is 20 away from its level."""
    noisy = [*about(500.0, 9), 500.0 + low, 501.0]
    made = found(tmp_path, b_eff=about(100.0), other=noisy)
    assert made["b_eff"] == (100.0, pytest.approx(100 - expected, rel=0.02), 20)


USUAL = pytest.approx(100 - 4.5 * SPREAD)


def announced(begin, end, **more):
    days = {"begin": date(2026, 1, begin), "end": date(2026, 1, end)}
    return {"kind": "expected", "direction": "worse", "at_most": 0.25} | days | more


@pytest.mark.parametrize(
    ("entry", "limit"),
    [
        pytest.param(announced(21, 21), 75.0, id="today"),
        pytest.param(announced(22, 22), USUAL, id="tomorrow"),
        pytest.param(announced(13, 17), 75.0, id="three sessions since then, 12 before"),
        pytest.param(announced(13, 16), USUAL, id="four sessions since then tell the level"),
        pytest.param(announced(12, 17), USUAL, id="11 sessions before tell no level"),
        pytest.param(announced(21, 21, at_most=0.02), USUAL, id="smaller than the noise"),
        pytest.param(announced(21, 21, direction="better"), USUAL, id="the other direction"),
        pytest.param(announced(21, 21, where={"file_system": "scratch"}), USUAL, id="another place"),
        pytest.param(announced(21, 21, where={"processes": "2"}), 75.0, id="this place"),
    ],
)
def test_a_known_loss_may_reach_its_largest_size_until_the_new_level_is_known(tmp_path, entry, limit):
    assert found(tmp_path, b_eff=about(100.0), entries=[entry])["b_eff"][:2] == (100.0, limit)


@pytest.mark.parametrize(("metric", "lost", "limit"), [("b_eff", 80.0, 75.0), ("ping_pong_latency", 110.0, 125.0)])
def test_a_known_loss_is_one_of_the_level_before_it(tmp_path, metric, lost, limit):
    """Two of three nights have lost more than noise; lower is better for the latency."""
    made = found(
        tmp_path, **{"b_eff": about(100.0), metric: [*about(100.0, 9), lost, lost]}, entries=[announced(19, 20)]
    )
    assert made[metric][1] == pytest.approx(limit)


@pytest.mark.parametrize(("until", "limited"), [(20, True), (21, False)])
def test_an_acknowledged_loss_of_any_size_has_no_limit_until_its_day(tmp_path, until, limited):
    days = {"since": date(2026, 1, 19), "until": date(2026, 1, until)}
    entry = {"kind": "acknowledged", "direction": "worse"} | days
    assert ("b_eff" in found(tmp_path, b_eff=about(100.0), entries=[entry])) is limited


@pytest.mark.parametrize(("end", "limited"), [(2, True), (4, False)])
def test_a_value_measured_in_maintenance_has_no_limit(tmp_path, end, limited):
    entry = {"kind": "maintenance", "begin": datetime(2026, 1, 21), "end": datetime(2026, 1, 21, end)}  # noqa: DTZ001
    assert ("b_eff" in found(tmp_path, b_eff=about(100.0), entries=[entry])) is limited
