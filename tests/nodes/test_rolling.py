# SPDX-License-Identifier: Apache-2.0
"""A rolling examination: who is examined tonight, and when several nights name a node."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from sessions_made import night

from coffeecup.postprocess.history.nodes import COLUMNS, over_sessions
from coffeecup.postprocess.history.rolling import by_chance, plan

FLEET = [f"x{number:02}" for number in range(40)]


def table(sessions):
    """The node_table of sessions: number of the night to its groups, which are ratios of nodes; below 0.9 they are
    suspects."""
    rows = [
        (str(number), night(number), "s", "rolling", name, ratio, ratio * 1.02, ratio < 0.9, ratio < 0.9, str(place), 0)
        for number, groups in sessions.items()
        for place, group in enumerate(groups)
        for name, ratio in group.items()
    ]
    types = {"ratio": float, "high": float, "suspected": bool, "confirmed": bool}
    made = pd.DataFrame(rows, columns=COLUMNS).astype(types)
    return made.assign(session_time=pd.to_datetime(made["session_time"], utc=True))


def group(names, **slow):
    return {name: slow.get(name, 1.0) for name in [*names, *(set(slow) - set(names))]}


def planned(sessions, idle=FLEET, node_hours=100.0, slow=(), at=20):
    return plan(table(sessions), slow, idle, node_hours, night(at))


def members(groups):
    return sorted(name for group in groups for name in group)


def test_those_whose_examination_was_longest_ago_come_first_and_never_examined_ones_before_them():
    sessions = {3: [group(FLEET[:16])], 7: [group(FLEET[16:24])], 9: [group(FLEET[24:32])]}
    hours = 24 * 5 / 60  # as much as 24 nodes take: those that were never examined, and the oldest
    assert members(planned(sessions, node_hours=hours)) == [*FLEET[:16], *FLEET[32:]]
    assert members(planned(sessions, FLEET[:32], 8 * 5 / 60, at=9)) == []  # of the same night
    later = planned(sessions, FLEET[16:32], 8 * 5 / 60)
    assert members(later) == FLEET[16:24]


@pytest.mark.parametrize(("idle", "sizes"), [(2, []), (3, [3]), (7, [7]), (9, [8]), (17, [8, 8]), (40, [8] * 5)])
def test_groups_are_equal_and_have_three_to_eight_nodes(idle, sizes):
    assert [len(group) for group in planned({}, FLEET[:idle])] == sizes


@pytest.mark.parametrize(("minutes", "count"), [(14.9, 0), (15, 3), (79, 8), (80, 16), (81, 16)])
def test_the_budget_of_a_night_is_kept(minutes, count):
    assert len(members(planned({}, node_hours=minutes / 60))) == count


def test_sessions_of_the_same_night_count_in_its_budget():
    sessions = {20: [group(FLEET[:8])]}
    for hours, count in ((11.9, 8), (12.1, 16)):
        groups = plan(table(sessions), (), FLEET, 16 * 5 / 60, night(20) + timedelta(hours=hours))
        assert len(members(groups)) == count


def test_suspects_of_their_newest_session_come_again_in_different_groups_until_they_are_named():
    sessions = {3: [group(FLEET[5:20], x02=0.7)], 9: [group(FLEET[5:10], x00=0.7, x01=0.7, x02=1.0)]}
    groups = planned(sessions, node_hours=16 * 5 / 60)
    assert sorted(len({"x00", "x01"} & set(one)) for one in groups) == [1, 1]
    assert "x02" not in members(groups) and "x00" not in members(planned(sessions, node_hours=1.4, slow=["x00"]))


def test_at_most_a_quarter_of_a_night_examines_suspects_again():
    sessions = {3: [group(FLEET[:20])], 9: [dict.fromkeys(FLEET[20:], 0.7)]}
    assert len(set(members(planned(sessions, node_hours=16 * 5 / 60))) & set(FLEET[20:])) == 4


def test_groups_have_other_members_every_night():
    first = planned({}, FLEET[:16])
    second = planned({2: [group(names) for names in first]}, FLEET[:16])
    assert all(set(one) != set(other) for one in first for other in second)


# --- what nights tell -------------------------------------------------------------------------------------------------


def nights_of(examined, others=300, noise=0.01, disturbed=0.02):
    """Nights in which groups of eight of a fleet are examined, of whose first sessions this share is disturbed; and of
    x00 with its ratios in as many of the nights."""
    rng, sessions = np.random.default_rng(1), {}
    names = iter([f"y{place:03}" for place in range(others)])
    for place in range(others // 7):
        ratios = {next(names): float(np.exp(noise * rng.standard_normal())) for _ in range(7)}
        if rng.random() < 7 * disturbed:
            ratios[min(ratios)] = 0.7
        if place < len(examined):
            ratios["x00"] = examined[place]
        sessions[place] = [ratios]
    return table(sessions)


@pytest.mark.parametrize(
    ("ratios", "named"),
    [([0.8] * 5, False), ([0.8] * 6, True), ([0.8] * 5 + [1.0], False), ([0.96] * 9, False), ([1.0] * 6, False)],
)
def test_six_sessions_below_95_percent_name_a_node_and_nobody_else(ratios, named):
    found = over_sessions(nights_of(ratios)).set_index("node")
    assert set(found.index[found["slow"].astype(bool)]) == ({"x00"} if named else set())
    assert bool(found.loc["x00", "confirmed_now"]) == named == pd.notna(found.loc["x00", "since"])
    assert found["since"].notna().sum() == found["confirmed_now"].sum() == named


def test_a_group_that_is_slower_as_a_whole_is_no_reason_to_name_its_nodes():
    """Each ratio is relative to the group of a night; that of the next one differs."""
    sessions = {n: [dict.fromkeys(FLEET[:8], 0.8), dict.fromkeys(FLEET[8:16], 1.25)] for n in range(8)}
    assert not over_sessions(table(sessions))["slow"].any()


def test_many_nights_that_disturb_nodes_require_more_sessions():
    """Of a node's first session, a third is slow: six of six are chance, by 300 nodes in a year."""
    found = over_sessions(nights_of([0.8] * 6, disturbed=0.9)).set_index("node")
    assert not found.loc["x00", "slow"]
    assert over_sessions(nights_of([0.8] * 6, disturbed=0.05)).set_index("node").loc["x00", "slow"]


def test_all_looks_of_a_year_share_the_probability_of_a_false_name():
    """32 nodes a night: the looks of a year are 365 times 32, each node's with 0.01 of their share."""
    examined = table({n: [group([f"z{(32 * n + place) % 1000}" for place in range(32)])] for n in range(100)})
    rate, slow = by_chance(examined)
    assert rate / 1000 == pytest.approx(0.01 / (365 * 32)) and slow == pytest.approx(1 / 1002)


@pytest.mark.parametrize("missed", [9, 10])
def test_missed_examinations_are_counted_by_those_of_the_average_node(missed):
    """Forty nodes in groups of eight, one a night: from then on without x00, which takes part in none."""
    sessions = {number: [group(FLEET[8 * (number % 5) :][:8])] for number in range(5 * missed + 1)}
    left = table({n: [{name: 1.0 for name in groups[0] if name != "x00" or n == 0}] for n, groups in sessions.items()})
    found = over_sessions(left).set_index("node")
    assert found.loc["x00", "absent"] == missed - 1 and found.loc["x08", "absent"] == 0
    assert found.loc["x00", "last_examined"] == night(0)
